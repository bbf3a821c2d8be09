// Memory that comes back later: blocks that other streams still use, and cached segments.
#include <algorithm>
#include <cstring>
#include <utility>

#include "allocator_impl.h"
#include "executor.h"
#include "graph.h"
#include "options.h"
#include "synchronize.h"

namespace spyre::device {
namespace {

constexpr int kPoisonByte = 0xcb;

// A capture records no events that complete; these users are asked again after the capture.
void record_users(PendingFree& pending) {
  std::vector<StreamRef> capturing;
  for (const StreamRef& user : pending.unrecorded) {
    if (is_capturing(user)) {
      capturing.push_back(user);
      continue;
    }
    Event event(user.device);
    if (event.record(user).is_ok()) pending.events.push_back(event);  // else it was destroyed: idle
  }
  pending.unrecorded.swap(capturing);
}

bool finished(PendingFree& pending) {
  if (!pending.unrecorded.empty()) record_users(pending);
  return pending.unrecorded.empty() &&
         std::all_of(pending.events.begin(), pending.events.end(),
                     [](const Event& event) { return event.query(); });
}

}  // namespace

void CachingAllocator::Impl::queue_pending_free(Block* block) {
  pending.push_back({block, std::move(block->users), {}});
  block->users.clear();
  record_users(pending.back());
}

void CachingAllocator::Impl::finish_pending_frees(Locked& locked) {
  for (std::size_t i = 0; i < pending.size();) {
    if (!finished(pending[i])) {
      ++i;
      continue;
    }
    Block* block = pending[i].block;
    std::swap(pending[i], pending.back());
    pending.pop_back();
    if (options().poison_freed_memory) poison(block);
    give_back(block, locked);
  }
}

// Note [Releasing segments]: a free block may still be used by queued work of its stream, so its
// segment can be unmapped only after the card has finished what is queued now. The segments leave
// the free lists first: nothing new can be placed in them while the lock is given up to wait.
Status CachingAllocator::Impl::release_cached(Locked& locked, const Mempool* only) {
  finish_pending_frees(locked);
  locked.unlock();
  const Status drained_early = drain_device(device);  // so that pending frees can complete
  locked.lock();
  if (!drained_early.is_ok()) return Status::ok();  // engine thread: nothing may be unmapped
  finish_pending_frees(locked);

  std::vector<std::unique_ptr<Segment>> leaving;
  for (auto entry = segments.begin(); entry != segments.end();) {
    Segment& segment = *entry->second;
    Pool& pool = *segment.pool;
    const bool trimmed =
        only != nullptr ? pool.owner == only : pool.owner == &default_pool || pool.owner->uses == 0;
    if (!trimmed || !segment.wholly_free()) {
      ++entry;
      continue;
    }
    pool.free.remove(segment.first);
    leaving.push_back(std::move(entry->second));
    entry = segments.erase(entry);
  }
  if (leaving.empty()) return Status::ok();
  ++stats.num_sync_all_streams;
  locked.unlock();
  const Status drained = drain_device(device);
  locked.lock();
  for (std::unique_ptr<Segment>& segment : leaving) {
    Pool& pool = *segment->pool;
    if (!drained.is_ok()) {  // the process exits: keep everything mapped
      pool.free.insert(segment->first);
      char* base = segment->base;
      segments[base] = std::move(segment);
      continue;
    }
    const std::size_t first_page = arena.page_of(segment->base);
    std::fill_n(segment_of_page.begin() + static_cast<std::ptrdiff_t>(first_page),
                segment->size / kPageBytes, nullptr);
    drop_block(segment->first);
    arena.release(segment->base, segment->size);
    ++stats.num_device_free;
    count(stats.segment, pool.large, -1);
    count(stats.reserved_bytes, pool.large, -static_cast<std::int64_t>(segment->size));
    locked.trace(TraceKind::kSegmentFree, segment->base, segment->size, pool.stream);
  }
  return Status::ok();
}

// In stream order: queued work of the stream may still read the block.
void CachingAllocator::Impl::poison(Block* block) {
  const StreamRef stream{device, block->segment->pool->stream};
  void* address = block->address;
  const std::size_t nbytes = block->size;
  if (!is_stream(stream) || is_idle(stream)) {
    std::memset(address, kPoisonByte, nbytes);
    return;
  }
  enqueue_if_open(stream, Engine::kCompute, make_work("poison_freed_memory", [address, nbytes] {
                    std::memset(address, kPoisonByte, nbytes);
                  }));
}

}  // namespace spyre::device
