#include "device/spin.h"

#include <thread>

#include "check.h"

using namespace spyre::device;

TEST(a_spin_ends_when_ready_and_gives_up_soon_otherwise) {
  Spinner spinner;
  CHECK(spinner.spin([] { return true; }));
  int asked = 0;
  if (std::thread::hardware_concurrency() > 1) {
    CHECK(spinner.spin([&asked] { return ++asked == 10; }));
  }
  const std::int64_t start = now_ns();
  for (int i = 0; i < 100; ++i) CHECK(!spinner.spin([] { return false; }));
  CHECK(now_ns() - start < 2'000'000'000);
}
