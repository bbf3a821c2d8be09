#include "device/allocator.h"

#include <cstring>
#include <random>
#include <thread>

#include "check.h"
#include "device/event.h"
#include "gate.h"

using namespace spyre::device;

namespace {

CachingAllocator& card0() { return CachingAllocator::of(0); }

void* take(std::size_t nbytes, StreamId stream = 0) {
  void* address = nullptr;
  CHECK_OK(card0().allocate(nbytes, stream, &address));
  return address;
}

// Every test leaves nothing behind, so that counts are exact.
struct CleanCard {
  CleanCard() { (void)card0().empty_cache(); }
  ~CleanCard() {
    CHECK_OK(card0().empty_cache());
    const AllocatorStats stats = card0().stats();
    for (int kind = 0; kind < 3; ++kind) {
      CHECK_EQ(stats.allocation[kind].current, 0);
      CHECK_EQ(stats.active[kind].current, 0);
      CHECK_EQ(stats.allocated_bytes[kind].current, 0);
      CHECK_EQ(stats.active_bytes[kind].current, 0);
      CHECK_EQ(stats.requested_bytes[kind].current, 0);
      CHECK_EQ(stats.inactive_split[kind].current, 0);
      CHECK_EQ(stats.inactive_split_bytes[kind].current, 0);
      CHECK_EQ(stats.segment[kind].current, 0);
      CHECK_EQ(stats.reserved_bytes[kind].current, 0);
    }
  }
};

}  // namespace

TEST(allocations_are_aligned_and_zero_bytes_give_null) {
  CleanCard clean;
  CHECK(take(0) == nullptr);
  std::vector<void*> all;
  for (std::size_t nbytes : {1, 127, 128, 129, 5000, 1 << 20, (1 << 20) + 1, 33 << 20}) {
    void* address = take(nbytes);
    CHECK_EQ(reinterpret_cast<std::uintptr_t>(address) % 128, 0u);
    std::memset(address, 0x5a, nbytes);
    all.push_back(address);
  }
  for (void* address : all) card0().free(address);
}

TEST(a_freed_block_is_reused_by_its_stream_only) {
  CleanCard clean;
  void* first = take(4096);
  card0().free(first);
  CHECK(take(4096, 5) != first);
  void* again = take(4000);
  CHECK(again == first);
  card0().free(again);
  for (const SegmentInfo& segment : card0().snapshot()) {
    for (const BlockInfo& block : segment.blocks) {
      if (block.allocated) card0().free(reinterpret_cast<void*>(block.address));
    }
  }
}

TEST(blocks_split_and_merge) {
  CleanCard clean;
  char* a = static_cast<char*>(take(1000));
  char* b = static_cast<char*>(take(1000));
  char* c = static_cast<char*>(take(1000));
  CHECK(b == a + 1024 && c == b + 1024);
  CHECK_EQ(card0().stats().inactive_split[0].current, 1);
  card0().free(a);
  card0().free(c);
  CHECK_EQ(card0().stats().inactive_split[0].current, 2);
  card0().free(b);
  CHECK_EQ(card0().stats().inactive_split[0].current, 0);
  void* whole = take(1 << 20);  // needs the merged front of the segment
  CHECK(whole == a);
  CHECK_EQ(card0().stats().segment[1].current, 1);
  card0().free(whole);
}

TEST(the_best_fit_is_taken) {
  CleanCard clean;
  void* gaps[3];
  std::vector<void*> walls;
  const std::size_t sizes[3] = {64 << 10, 12 << 10, 24 << 10};
  for (int i = 0; i < 3; ++i) {
    gaps[i] = take(sizes[i]);
    walls.push_back(take(128));
  }
  for (void* gap : gaps) card0().free(gap);
  void* small = take(11 << 10);
  void* middle = take(20 << 10);
  CHECK(small == gaps[1]);
  CHECK(middle == gaps[2]);
  for (void* address : {small, middle, walls[0], walls[1], walls[2]}) card0().free(address);
}

TEST(find_block_knows_inner_addresses_and_the_card) {
  CleanCard clean;
  char* large = static_cast<char*>(take(5 << 20));
  char* small = static_cast<char*>(take(300));
  void* base = nullptr;
  std::size_t nbytes = 0;
  CHECK(card0().find_block(large + (4 << 20), &base, &nbytes));
  CHECK(base == large);
  CHECK(nbytes >= std::size_t{5} << 20);
  CHECK(card0().find_block(small + 299, &base, &nbytes));
  CHECK(base == small);
  CHECK_EQ(nbytes, 384u);
  CHECK(!CachingAllocator::of(1).find_block(small, &base, &nbytes));
  CHECK_EQ(device_of_address(small + 5), 0);
  int on_host = 0;
  CHECK_EQ(device_of_address(&on_host), -1);
  CHECK(!card0().find_block(&on_host, &base, &nbytes));
  void* other = nullptr;
  CHECK_OK(CachingAllocator::of(1).allocate(64, 0, &other));
  CHECK_EQ(device_of_address(other), 1);
  CachingAllocator::of(1).free(other);
  card0().free(small);
  CHECK(!card0().find_block(small, &base, &nbytes));
  card0().free(large);
}

TEST(record_stream_delays_reuse_until_the_other_stream_has_passed) {
  CleanCard clean;
  const StreamRef other = create_stream(0, 0);
  auto gate = std::make_shared<Gate>();
  void* address = take(2048);
  CHECK_OK(enqueue_gate(other, gate));
  card0().record_stream(static_cast<char*>(address) + 100, other);
  card0().free(address);
  CHECK_EQ(card0().stats().active[0].current, 1);
  CHECK_EQ(card0().stats().allocation[0].current, 0);
  void* different = take(2048);
  CHECK(different != address);
  gate->open();
  CHECK_OK(synchronize(other));
  void* again = take(2048);
  CHECK(again == address);
  card0().free(different);
  card0().free(again);
  CHECK_OK(destroy_stream(other));
}

TEST(an_impossible_request_fails_at_once) {
  void* address = nullptr;
  for (std::size_t nbytes : {std::size_t{1} << 46, ~std::size_t{0}, ~std::size_t{0} - 4096}) {
    CHECK_CODE(card0().allocate(nbytes, 0, &address), StatusCode::kOutOfMemory);
    CHECK(address == nullptr);
  }
}

TEST(cached_memory_is_unmapped_only_after_queued_work) {
  CleanCard clean;
  auto gate = std::make_shared<Gate>();
  auto* values = static_cast<int*>(take(8 << 20));
  CHECK_OK(enqueue_gate({0, 0}, gate));
  CHECK_OK(enqueue({0, 0}, [values] { values[1000000] = 3; }));
  card0().free(values);
  std::thread opener([gate] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gate->open();
  });
  CHECK_OK(card0().empty_cache());  // would fault in the work if it did not wait
  CHECK_EQ(card0().stats().segment[0].current, 0);
  opener.join();
  CHECK_OK(synchronize({0, 0}));
}

TEST(stats_peaks_and_resets) {
  CleanCard clean;
  card0().reset_peak_stats();
  card0().reset_accumulated_stats();
  void* a = take(1000);
  void* b = take(3 << 20);
  AllocatorStats stats = card0().stats();
  CHECK_EQ(stats.allocated_bytes[0].current, 1024 + (3 << 20));
  CHECK_EQ(stats.allocated_bytes[1].current, 1024);
  CHECK_EQ(stats.allocated_bytes[2].current, 3 << 20);
  CHECK_EQ(stats.requested_bytes[0].current, 1000 + (3 << 20));
  CHECK_EQ(stats.reserved_bytes[0].current, (2 << 20) + (20 << 20));
  CHECK_EQ(stats.num_device_alloc, 2);
  std::size_t free_bytes = 0, total_bytes = 0;
  card0().memory_info(&free_bytes, &total_bytes);
  CHECK_EQ(total_bytes - free_bytes, std::size_t{22} << 20);
  card0().free(a);
  card0().free(b);
  stats = card0().stats();
  CHECK_EQ(stats.allocated_bytes[0].peak, 1024 + (3 << 20));
  CHECK_EQ(stats.allocation[0].freed, 2);
  card0().reset_peak_stats();
  CHECK_EQ(card0().stats().allocated_bytes[0].peak, 0);
}

TEST(the_snapshot_lists_every_block) {
  CleanCard clean;
  void* a = take(1000);
  const std::vector<SegmentInfo> segments = card0().snapshot();
  CHECK_EQ(segments.size(), 1u);
  const SegmentInfo& segment = segments.at(0);
  CHECK_EQ(segment.total_bytes, std::size_t{2} << 20);
  CHECK_EQ(segment.allocated_bytes, 1024u);
  CHECK_EQ(segment.requested_bytes, 1000u);
  CHECK_EQ(segment.blocks.size(), 2u);
  CHECK(segment.blocks[0].allocated && !segment.blocks[1].allocated);
  CHECK_EQ(segment.blocks[0].address, reinterpret_cast<std::uintptr_t>(a));
  card0().free(a);
}

TEST(mempools_keep_their_memory_apart) {
  CleanCard clean;
  const MempoolId id{77, 1};
  card0().begin_allocate_to_pool(id, [](StreamId stream) { return stream == 3; });
  void* inside = take(1000, 3);
  void* outside = take(1000, 0);
  card0().end_allocate_to_pool(id);
  void* later = take(1000, 3);
  int in_pool = 0;
  for (const SegmentInfo& segment : card0().snapshot()) in_pool += segment.pool_id[0] == 77;
  CHECK_EQ(in_pool, 1);
  for (void* address : {inside, outside, later}) card0().free(address);
  CHECK_OK(card0().empty_cache());
  CHECK_EQ(card0().stats().segment[0].current, 1);  // the pool is in use
  card0().release_pool(id);
}

TEST(the_tracer_sees_every_step) {
  CleanCard clean;
  using Kind = CachingAllocator::TraceKind;
  std::vector<Kind> kinds;
  card0().set_tracer([&kinds](Kind kind, std::uintptr_t, std::size_t, StreamId) {
    (void)card0().stats();  // called without the lock
    kinds.push_back(kind);
  });
  card0().free(take(1000));
  CHECK_OK(card0().empty_cache());
  card0().set_tracer({});
  CHECK((kinds == std::vector<Kind>{Kind::kSegmentAlloc, Kind::kAlloc, Kind::kFreeRequested,
                                    Kind::kFreeCompleted, Kind::kSegmentFree}));
}

TEST(random_use_from_eight_threads_never_overlaps_and_balances) {
  CleanCard clean;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([t] {
      std::mt19937 random(static_cast<unsigned>(t));
      std::vector<std::pair<unsigned char*, std::size_t>> live;
      const auto drop = [&](std::size_t i) {
        const auto [address, nbytes] = live[i];
        CHECK(address[0] == t + 1 && address[nbytes - 1] == t + 1);
        card0().free(address);
        live[i] = live.back();
        live.pop_back();
      };
      for (int i = 0; i < 1500; ++i) {
        if (!live.empty() && random() % 2 == 0) drop(random() % live.size());
        const std::size_t nbytes = 1 + random() % (random() % 20 == 0 ? 3 << 20 : 20000);
        auto* address = static_cast<unsigned char*>(take(nbytes, t % 3));
        address[0] = address[nbytes - 1] = static_cast<unsigned char>(t + 1);
        live.emplace_back(address, nbytes);
        if (i % 500 == 499) CHECK_OK(card0().empty_cache());
      }
      while (!live.empty()) drop(live.size() - 1);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(freeing_recorded_memory_with_a_full_queue_does_not_deadlock) {
  CleanCard clean;
  const StreamRef other = create_stream(0, 0);
  auto gate = std::make_shared<Gate>();
  void* shared = take(4096);
  void* held = take(4096);
  CHECK_OK(enqueue_gate(other, gate));
  // The work's end needs the allocator while the host frees under the allocator's lock.
  std::shared_ptr<void> owner(held, [](void* address) { card0().free(address); });
  CHECK_OK(enqueue(other, [owner] { (void)owner; }));
  owner.reset();
  for (int i = 2; i < 4096; ++i) CHECK_OK(enqueue(other, [] {}));
  card0().record_stream(shared, other);
  card0().free(shared);
  gate->open();
  CHECK_OK(destroy_stream(other));
}
