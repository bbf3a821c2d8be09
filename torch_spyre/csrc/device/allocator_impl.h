// State of CachingAllocator, shared by the allocator_*.cpp files. Internal.
#pragma once
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "address_index.h"
#include "allocator.h"
#include "arena.h"
#include "block.h"
#include "event.h"
#include "free_index.h"

namespace spyre::device {

inline constexpr std::size_t kSmallRequestBytes = std::size_t{1} << 20;
inline constexpr std::size_t kSmallSegmentBytes = kPageBytes;
inline constexpr std::size_t kMediumRequestBytes = std::size_t{10} << 20;
inline constexpr std::size_t kMediumSegmentBytes = std::size_t{20} << 20;

struct Mempool;

// Free blocks of one stream, one size class, one mempool.
struct Pool {
  FreeIndex free;
  StreamId stream = 0;
  bool large = false;
  Mempool* owner = nullptr;
};

struct Mempool {
  MempoolId id{0, 0};
  int uses = 0;  // begin_allocate_to_pool() minus release_pool(); 0: its cached segments may go
  bool no_split = false, use_on_oom = false;
  struct StreamPools {
    Pool small, large;
  };
  std::unordered_map<StreamId, std::unique_ptr<StreamPools>> streams;
  StreamId last_stream = -1;  // of last_pools: most processes use one stream
  StreamPools* last_pools = nullptr;

  Pool& pool_for(StreamId stream, bool large);
};

// A freed block that other streams may still use.
struct PendingFree {
  Block* block;
  std::vector<StreamRef> unrecorded;  // capturing at the free: their events come later
  std::vector<Event> events;
};

struct TraceEntry {
  CachingAllocator::TraceKind kind;
  std::uintptr_t address;
  std::size_t nbytes;
  StreamId stream;
};

struct CachingAllocator::Impl {
  explicit Impl(int index);

  // Holds the lock; reports what happened to the tracer after releasing it.
  class Locked {
   public:
    explicit Locked(Impl& impl) : impl_(impl), lock_(impl.mutex) {}
    ~Locked();
    void trace(TraceKind kind, const void* address, std::size_t nbytes, StreamId stream) {
      if (impl_.tracer == nullptr) return;
      entries_.push_back({kind, reinterpret_cast<std::uintptr_t>(address), nbytes, stream});
    }
    void unlock() { lock_.unlock(); }
    void lock() { lock_.lock(); }

   private:
    Impl& impl_;
    std::unique_lock<std::mutex> lock_;
    std::vector<TraceEntry> entries_;
  };

  // allocator.cpp
  Block* take_free(Pool& pool, std::size_t size);
  Block* new_segment(Pool& pool, std::size_t size, Locked& locked);
  Block* find_block_for(Mempool& mempool, StreamId stream, std::size_t size, Locked& locked);
  bool worth_splitting(const Block& block, std::size_t size) const;
  void give_out(Block* block, std::size_t size, std::size_t requested);
  void give_back(Block* block, Locked& locked);  // to its pool; merges with free neighbours
  Block* block_at(const void* address) const;    // live or free block that holds the address
  Block* make_block();
  void drop_block(Block* block);

  // allocator_pools.cpp
  // Made at its first mention, without a use. Needs the mutex.
  Mempool& mempool(MempoolId id);
  Block* take_from_willing_pools(StreamId stream, std::size_t size);
  void count_external(std::size_t nbytes, int sign);

  // allocator_reclaim.cpp
  void queue_pending_free(Block* block);
  void finish_pending_frees(Locked& locked);
  // Unmaps wholly free segments of `only` (null: of every pool that may be trimmed).
  Status release_cached(Locked& locked, const Mempool* only);
  void poison(Block* block);

  // allocator_report.cpp
  Status out_of_memory(std::size_t nbytes, Locked& locked);
  void count(StatValue (&stat)[3], bool large, std::int64_t amount);

  std::size_t limit_bytes() const {
    return static_cast<std::size_t>(static_cast<double>(capacity_bytes) * fraction);
  }

  const int device;
  const std::size_t capacity_bytes;
  double fraction = 1.0;
  bool caching = true;

  mutable std::mutex mutex;  // guards everything below
  Arena arena;
  std::vector<Segment*> segment_of_page;
  std::map<char*, std::unique_ptr<Segment>> segments;
  AddressIndex blocks;
  std::vector<Block*> spare_blocks;
  Mempool default_pool;
  std::map<MempoolId, std::unique_ptr<Mempool>> mempools;
  std::vector<std::pair<MempoolId, std::function<bool(StreamId)>>> routes;
  std::deque<PendingFree> pending;
  std::map<std::uintptr_t, std::pair<std::size_t, MempoolId>> externals;  // address -> bytes, pool
  std::uint64_t next_history_id = 0;
  std::shared_ptr<Tracer> tracer;
  AllocatorStats stats;
};

}  // namespace spyre::device
