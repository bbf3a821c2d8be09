// The caching allocator of one card: 128-byte alignment, 2 MB huge-page segments, best fit with
// split and merge, stream-ordered reuse.
//
// Note [Stream-ordered reuse]: as on CUDA, a freed block goes back to the free list of the stream
// that allocated it at once, even while work of that stream that uses it is still queued: later
// work of the same stream runs after it. Use on another stream needs record_stream(); such a block
// returns only after that stream has passed the point of the free.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "status.h"
#include "stream.h"

namespace spyre::device {

struct StatValue {
  std::int64_t current = 0, peak = 0, allocated = 0, freed = 0;
};
enum class StatKind : int { kAll = 0, kSmallPool = 1, kLargePool = 2 };
struct AllocatorStats {  // [StatKind]; names follow torch.cuda.memory_stats
  StatValue allocation[3], segment[3], active[3], inactive_split[3];
  StatValue allocated_bytes[3], reserved_bytes[3], active_bytes[3], inactive_split_bytes[3],
      requested_bytes[3];
  StatValue oversize_allocations, oversize_segments;
  std::int64_t num_alloc_retries = 0, num_ooms = 0, num_sync_all_streams = 0, num_device_alloc = 0,
               num_device_free = 0, max_split_size = -1;
};

struct BlockInfo {
  std::uintptr_t address = 0;
  std::size_t size_bytes = 0, requested_bytes = 0;
  bool allocated = false, active = false;  // active and not allocated: waits for another stream
  std::uint64_t history_id = 0;            // of the allocation that made it, for recorded stacks
};
struct SegmentInfo {
  std::uintptr_t address = 0;
  std::size_t total_bytes = 0, allocated_bytes = 0, active_bytes = 0, requested_bytes = 0;
  StreamId stream = 0;
  bool is_large = false;
  std::uint64_t pool_id[2] = {0, 0};
  std::vector<BlockInfo> blocks;
};

using MempoolId = std::pair<std::uint64_t, std::uint64_t>;  // {0, 0} is the default pool

class CachingAllocator {
 public:
  static CachingAllocator& of(int device);  // std::out_of_range for an invalid ordinal

  // nbytes == 0 gives nullptr. kOutOfMemory carries CUDA's text: asked, capacity, free, allocated,
  // reserved. Retries after freeing cached segments and after synchronising the card.
  Status allocate(std::size_t nbytes, StreamId stream, void** out);
  void free(void* address);
  void record_stream(void* address, StreamRef stream);
  // Start and size of the live block that holds `address`; false when it is not of this card.
  bool find_block(const void* address, void** base, std::size_t* size_bytes) const;

  Status empty_cache(MempoolId pool = {0, 0});
  AllocatorStats stats() const;
  void reset_accumulated_stats();
  void reset_peak_stats();
  void memory_info(std::size_t* free_bytes, std::size_t* total_bytes) const;
  Status set_memory_fraction(double fraction);
  double memory_fraction() const;
  std::vector<SegmentInfo> snapshot() const;

  // Allocations for which `filter(stream)` holds go to `pool` until end. As in CUDA's allocator the
  // filter is asked on the allocating thread, under the allocator's lock: a filter that means one
  // thread only compares thread ids. The first begin makes the pool; release_pool() undoes one
  // begin and after the last one the pool's cached memory may be trimmed.
  void begin_allocate_to_pool(MempoolId pool, std::function<bool(StreamId)> filter);
  void end_allocate_to_pool(MempoolId pool);
  void release_pool(MempoolId pool);
  // no_split: a request of the pool gets a segment of its own. use_on_oom: requests of other pools
  // may take free blocks of this one before they fail. Makes the pool when there is none.
  void set_pool_options(MempoolId pool, bool no_split, bool use_on_oom);

  // Off: nothing is reused; a request gets a fresh segment, which goes back at its free.
  void set_caching(bool on);

  // Memory of the card that lies elsewhere (shared between processes, a user's allocator): counted,
  // and shown in snapshots, as one large segment. It exists already: the limit does not refuse it.
  void add_external(void* address, std::size_t nbytes, MempoolId pool = {0, 0});
  void remove_external(void* address);

  // Trace of allocations for memory history and the profiler; called without the lock held.
  enum class TraceKind {
    kAlloc,
    kFreeRequested,
    kFreeCompleted,
    kSegmentAlloc,
    kSegmentFree,
    kOom
  };
  using Tracer =
      std::function<void(TraceKind, std::uintptr_t address, std::size_t nbytes, StreamId)>;
  void set_tracer(Tracer tracer);  // empty removes it

  struct Impl;
  explicit CachingAllocator(int device);
  ~CachingAllocator();
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

 private:
  Impl* impl_;
};

// Which card owns an address; -1 when none does.
int device_of_address(const void* address);

}  // namespace spyre::device
