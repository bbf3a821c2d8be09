#include "device/spin.h"

#include <thread>

#include "check.h"

using namespace spyre::device;

TEST(a_spin_ends_when_ready_and_gives_up_soon_otherwise) {
  Spinner spinner;
  CHECK(spinner.spin([] { return true; }));
  if (std::thread::hardware_concurrency() > 1) {
    // One spin may lose its core at once and give up; a fresh one that keeps it is enough.
    bool caught = false;
    for (int attempt = 0; attempt < 1000 && !caught; ++attempt) {
      int asked = 0;
      caught = Spinner().spin([&asked] { return ++asked == 2; });
    }
    CHECK(caught);
  }
  for (int i = 0; i < 100; ++i) CHECK(!spinner.spin([] { return false; }));
}
