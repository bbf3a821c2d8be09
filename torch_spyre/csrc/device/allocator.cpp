#include "allocator.h"

#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "allocator_impl.h"
#include "fork_guard.h"
#include "options.h"
#include "properties.h"

namespace spyre::device {
namespace {

std::size_t whole_pages(std::size_t size) {
  return (size + kPageBytes - 1) / kPageBytes * kPageBytes;
}

std::size_t segment_bytes(std::size_t size) {
  if (size <= kSmallRequestBytes) return kSmallSegmentBytes;
  if (size < kMediumRequestBytes) return kMediumSegmentBytes;
  return whole_pages(size);
}

std::vector<CachingAllocator*> make_allocators() {
  mark_device_used();
  std::vector<CachingAllocator*> all;
  for (int device = 0; device < device_count(); ++device) {
    all.push_back(new CachingAllocator(device));
  }
  return all;
}

}  // namespace

CachingAllocator& CachingAllocator::of(int device) {
  // Leaked on purpose: tensors may be destroyed after static destructors.
  static const auto* const all = new std::vector<CachingAllocator*>(make_allocators());
  if (device < 0 || device >= static_cast<int>(all->size())) (void)properties(device);  // throws
  return *(*all)[static_cast<std::size_t>(device)];
}

CachingAllocator::CachingAllocator(int device) : impl_(new Impl(device)) {}
CachingAllocator::~CachingAllocator() { delete impl_; }

CachingAllocator::Impl::Impl(int index)
    : device(index),
      capacity_bytes(properties(index).total_memory_bytes),
      arena(index, capacity_bytes),
      segment_of_page(arena.page_count(), nullptr),
      blocks(arena.base(), arena.page_count() * kPageBytes) {}

Pool& Mempool::pool_for(StreamId stream, bool large) {
  if (stream != last_stream) {
    std::unique_ptr<StreamPools>& pools = streams[stream];
    if (pools == nullptr) {
      pools = std::make_unique<StreamPools>();
      pools->small.stream = pools->large.stream = stream;
      pools->small.owner = pools->large.owner = this;
      pools->large.large = true;
    }
    last_stream = stream;
    last_pools = pools.get();
  }
  return large ? last_pools->large : last_pools->small;
}

Block* CachingAllocator::Impl::make_block() {
  if (spare_blocks.empty()) return new Block();
  Block* block = spare_blocks.back();
  spare_blocks.pop_back();
  return block;
}

void CachingAllocator::Impl::drop_block(Block* block) {
  blocks.erase(block);
  *block = Block();
  spare_blocks.push_back(block);
}

Block* CachingAllocator::Impl::block_at(const void* address) const {
  if (Block* block = blocks.starting_at(address)) return block;
  if (!arena.contains(address) || segment_of_page[arena.page_of(address)] == nullptr) {
    return nullptr;
  }
  return blocks.holding(address);
}

// A rest this small would not serve another request of the same pool.
bool CachingAllocator::Impl::worth_splitting(const Block& block, std::size_t size) const {
  const Pool& pool = *block.segment->pool;
  if (!caching || pool.owner->no_split) return false;
  const std::size_t rest = block.size - size;
  return pool.large ? rest > kSmallRequestBytes : rest >= kAlignBytes;
}

Block* CachingAllocator::Impl::take_free(Pool& pool, std::size_t size) {
  Block* block = caching ? pool.free.best_fit(size) : nullptr;
  if (block == nullptr) return nullptr;
  if (pool.owner->no_split && block->size != whole_pages(size)) return nullptr;
  pool.free.remove(block);
  if (block->previous != nullptr || block->next != nullptr) {
    count(stats.inactive_split, pool.large, -1);
    count(stats.inactive_split_bytes, pool.large, -static_cast<std::int64_t>(block->size));
  }
  return block;
}

Block* CachingAllocator::Impl::new_segment(Pool& pool, std::size_t size, Locked& locked) {
  const bool exact = !caching || pool.owner->no_split;
  const std::size_t nbytes = exact ? whole_pages(size) : segment_bytes(size);
  const auto reserved = static_cast<std::size_t>(stats.reserved_bytes[0].current);
  const std::size_t limit = limit_bytes();
  if (nbytes > limit || reserved > limit - nbytes) return nullptr;
  char* base = arena.commit(nbytes);
  if (base == nullptr) return nullptr;
  auto segment = std::make_unique<Segment>();
  segment->base = base;
  segment->size = nbytes;
  segment->pool = &pool;
  Block* block = make_block();
  block->address = base;
  block->size = nbytes;
  block->segment = segment.get();
  segment->first = block;
  const std::size_t first_page = arena.page_of(base);
  for (std::size_t page = 0; page < nbytes / kPageBytes; ++page) {
    segment_of_page[first_page + page] = segment.get();
  }
  blocks.insert(block);
  segments[base] = std::move(segment);
  ++stats.num_device_alloc;
  count(stats.segment, pool.large, 1);
  count(stats.reserved_bytes, pool.large, static_cast<std::int64_t>(nbytes));
  locked.trace(TraceKind::kSegmentAlloc, base, nbytes, pool.stream);
  return block;
}

Block* CachingAllocator::Impl::find_block_for(Mempool& mempool, StreamId stream, std::size_t size,
                                              Locked& locked) {
  Pool& pool = mempool.pool_for(stream, size > kSmallRequestBytes);
  Block* block = take_free(pool, size);
  return block != nullptr ? block : new_segment(pool, size, locked);
}

// `block` is in no free list. Cuts it to `size` when the rest is useful and marks it live.
void CachingAllocator::Impl::give_out(Block* block, std::size_t size, std::size_t requested) {
  const bool large = block->segment->pool->large;
  if (worth_splitting(*block, size)) {
    Block* rest = make_block();
    rest->address = block->address + size;
    rest->size = block->size - size;
    rest->segment = block->segment;
    rest->previous = block;
    rest->next = block->next;
    if (rest->next != nullptr) rest->next->previous = rest;
    block->next = rest;
    block->size = size;
    blocks.insert(rest);
    block->segment->pool->free.insert(rest);
    count(stats.inactive_split, large, 1);
    count(stats.inactive_split_bytes, large, static_cast<std::int64_t>(rest->size));
  }
  block->allocated = block->active = true;
  block->requested = requested;
  block->history_id = ++next_history_id;
  const auto nbytes = static_cast<std::int64_t>(block->size);
  count(stats.allocation, large, 1);
  count(stats.allocated_bytes, large, nbytes);
  count(stats.active, large, 1);
  count(stats.active_bytes, large, nbytes);
  count(stats.requested_bytes, large, static_cast<std::int64_t>(requested));
}

void CachingAllocator::Impl::give_back(Block* block, Locked& locked) {
  Pool& pool = *block->segment->pool;
  locked.trace(TraceKind::kFreeCompleted, block->address, block->requested, pool.stream);
  count(stats.active, pool.large, -1);
  count(stats.active_bytes, pool.large, -static_cast<std::int64_t>(block->size));
  block->active = false;
  for (Block* other : {block->previous, block->next}) {
    if (other == nullptr || other->active) continue;
    pool.free.remove(other);
    count(stats.inactive_split, pool.large, -1);
    count(stats.inactive_split_bytes, pool.large, -static_cast<std::int64_t>(other->size));
    Block* front = other->address < block->address ? other : block;
    Block* back = front == other ? block : other;
    front->size += back->size;
    front->next = back->next;
    if (front->next != nullptr) front->next->previous = front;
    drop_block(back);
    block = front;
  }
  pool.free.insert(block);
  if (block->previous != nullptr || block->next != nullptr) {
    count(stats.inactive_split, pool.large, 1);
    count(stats.inactive_split_bytes, pool.large, static_cast<std::int64_t>(block->size));
  }
}

Status CachingAllocator::allocate(std::size_t nbytes, StreamId stream, void** out) {
  *out = nullptr;
  if (forked_after_use()) return forked_status();
  if (nbytes == 0) return Status::ok();
  Impl::Locked locked(*impl_);
  if (!impl_->pending.empty()) impl_->finish_pending_frees(locked);
  Mempool* mempool = &impl_->default_pool;
  for (const auto& [id, filter] : impl_->routes) {
    if (filter(stream)) mempool = impl_->mempools.at(id).get();
  }
  if (nbytes > impl_->capacity_bytes) return impl_->out_of_memory(nbytes, locked);
  const std::size_t size = (nbytes + kAlignBytes - 1) / kAlignBytes * kAlignBytes;
  Block* block = impl_->find_block_for(*mempool, stream, size, locked);
  if (block == nullptr) {
    ++impl_->stats.num_alloc_retries;
    Status released = impl_->release_cached(locked, nullptr);
    if (!released.is_ok()) return released;
    block = impl_->find_block_for(*mempool, stream, size, locked);
  }
  if (block == nullptr) block = impl_->take_from_willing_pools(stream, size);
  if (block == nullptr) return impl_->out_of_memory(nbytes, locked);
  impl_->give_out(block, size, nbytes);
  locked.trace(TraceKind::kAlloc, block->address, nbytes, stream);
  *out = block->address;
  return Status::ok();
}

void CachingAllocator::free(void* address) {
  // In the child of a fork the lock may be held by a thread that does not exist here.
  if (address == nullptr || forked_after_use()) return;
  Impl::Locked locked(*impl_);
  Block* block = impl_->blocks.starting_at(address);
  if (block == nullptr || !block->allocated) {
    std::fprintf(stderr, "Spyre: free of %p, which is not a live block of card %d, is ignored\n",
                 address, impl_->device);
    return;
  }
  const Pool& pool = *block->segment->pool;
  locked.trace(TraceKind::kFreeRequested, address, block->requested, pool.stream);
  block->allocated = false;
  impl_->count(impl_->stats.allocation, pool.large, -1);
  impl_->count(impl_->stats.allocated_bytes, pool.large, -static_cast<std::int64_t>(block->size));
  impl_->count(impl_->stats.requested_bytes, pool.large,
               -static_cast<std::int64_t>(block->requested));
  if (!block->users.empty()) {
    impl_->queue_pending_free(block);
    return;
  }
  if (options().poison_freed_memory) impl_->poison(block);
  impl_->give_back(block, locked);
  // When it cannot be released now (engine threads may not wait), empty_cache() does it later.
  if (!impl_->caching) (void)impl_->release_cached(locked, nullptr);
}

void CachingAllocator::record_stream(void* address, StreamRef stream) {
  if (address == nullptr || forked_after_use()) return;
  std::lock_guard lock(impl_->mutex);
  Block* block = impl_->block_at(address);
  if (block == nullptr || !block->allocated) return;
  if (stream == StreamRef{impl_->device, block->segment->pool->stream}) return;
  for (const StreamRef& user : block->users) {
    if (user == stream) return;
  }
  block->users.push_back(stream);
}

bool CachingAllocator::find_block(const void* address, void** base, std::size_t* size_bytes) const {
  if (!impl_->arena.contains(address) || forked_after_use()) return false;
  std::lock_guard lock(impl_->mutex);
  const Block* block = impl_->block_at(address);
  if (block == nullptr || !block->allocated) return false;
  *base = block->address;
  *size_bytes = block->size;
  return true;
}

}  // namespace spyre::device
