#include "device/pinned.h"

#include <cstring>

#include "check.h"
#include "gate.h"

using namespace spyre::device;

TEST(pinned_memory_is_page_aligned_known_and_cached) {
  void* address = nullptr;
  CHECK_OK(pinned_allocate(10000, &address));
  CHECK_EQ(reinterpret_cast<std::uintptr_t>(address) % 4096, 0u);
  std::memset(address, 1, 10000);
  CHECK(is_pinned(static_cast<char*>(address) + 9999));
  int on_stack = 0;
  CHECK(!is_pinned(&on_stack));
  pinned_free(address);
  CHECK(!is_pinned(address));
  void* again = nullptr;
  CHECK_OK(pinned_allocate(12000, &again));
  CHECK(again == address);
  pinned_free(again);
  pinned_empty_cache();
  CHECK_EQ(pinned_stats().reserved_bytes_current, 0);
  CHECK_EQ(pinned_stats().allocations_current, 0);
}

TEST(pinned_memory_waits_for_the_streams_that_use_it) {
  const StreamRef stream = create_stream(0, 0);
  auto gate = std::make_shared<Gate>();
  void *first = nullptr, *second = nullptr, *third = nullptr;
  CHECK_OK(pinned_allocate(4096, &first));
  CHECK_OK(enqueue_gate(stream, gate, Engine::kDma));
  pinned_record_stream(first, stream);
  pinned_free(first);
  CHECK_OK(pinned_allocate(4096, &second));
  CHECK(second != first);
  pinned_empty_cache();  // keeps what is still in use
  gate->open();
  CHECK_OK(synchronize(stream));
  CHECK_OK(pinned_allocate(4096, &third));
  CHECK(third == first);
  pinned_free(second);
  pinned_free(third);
  pinned_empty_cache();
  CHECK_EQ(pinned_stats().segments_current, 0);
  CHECK_OK(destroy_stream(stream));
}

TEST(a_pinned_request_that_is_too_large_fails) {
  void* address = nullptr;
  CHECK_OK(pinned_allocate(0, &address));
  CHECK(address == nullptr);
  CHECK_CODE(pinned_allocate(std::size_t{1} << 60, &address), StatusCode::kOutOfMemory);
}
