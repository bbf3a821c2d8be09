// Mempools: where allocations go while a route is open, and what may be trimmed; memory outside
// of all pools.
#include <algorithm>
#include <utility>

#include "allocator_impl.h"
#include "fork_guard.h"

namespace spyre::device {

void CachingAllocator::begin_allocate_to_pool(MempoolId pool,
                                              std::function<bool(StreamId)> filter) {
  if (forked_after_use()) return;
  std::lock_guard lock(impl_->mutex);
  ++impl_->mempool(pool).uses;
  impl_->routes.emplace_back(pool, std::move(filter));
}

void CachingAllocator::end_allocate_to_pool(MempoolId pool) {
  if (forked_after_use()) return;
  std::lock_guard lock(impl_->mutex);
  auto& routes = impl_->routes;
  auto last = std::find_if(routes.rbegin(), routes.rend(),
                           [pool](const auto& route) { return route.first == pool; });
  if (last != routes.rend()) routes.erase(std::next(last).base());
}

void CachingAllocator::release_pool(MempoolId pool) {
  if (forked_after_use()) return;
  std::lock_guard lock(impl_->mutex);
  auto entry = impl_->mempools.find(pool);
  if (entry != impl_->mempools.end() && entry->second->uses > 0) --entry->second->uses;
}

void CachingAllocator::set_pool_options(MempoolId pool, bool no_split, bool use_on_oom) {
  if (forked_after_use()) return;
  std::lock_guard lock(impl_->mutex);
  Mempool& entry = impl_->mempool(pool);
  entry.no_split = no_split;
  entry.use_on_oom = use_on_oom;
}

void CachingAllocator::set_caching(bool on) {
  if (forked_after_use()) return;
  std::lock_guard lock(impl_->mutex);
  impl_->caching = on;
}

Mempool& CachingAllocator::Impl::mempool(MempoolId id) {
  std::unique_ptr<Mempool>& entry = mempools[id];
  if (entry == nullptr) {
    entry = std::make_unique<Mempool>();
    entry->id = id;
  }
  return *entry;
}

Block* CachingAllocator::Impl::take_from_willing_pools(StreamId stream, std::size_t size) {
  for (const auto& [id, mempool] : mempools) {
    if (!mempool->use_on_oom) continue;
    if (Block* block = take_free(mempool->pool_for(stream, size > kSmallRequestBytes), size)) {
      return block;
    }
  }
  return nullptr;
}

void CachingAllocator::Impl::count_external(std::size_t nbytes, int sign) {
  for (auto* number : {&stats.allocation, &stats.active, &stats.segment}) {
    count(*number, true, sign);
  }
  const auto amount = static_cast<std::int64_t>(nbytes) * sign;
  for (auto* bytes : {&stats.allocated_bytes, &stats.active_bytes, &stats.reserved_bytes,
                      &stats.requested_bytes}) {
    count(*bytes, true, amount);
  }
}

void CachingAllocator::add_external(void* address, std::size_t nbytes, MempoolId pool) {
  if (forked_after_use()) return;
  std::lock_guard lock(impl_->mutex);
  impl_->externals[reinterpret_cast<std::uintptr_t>(address)] = {nbytes, pool};
  impl_->count_external(nbytes, 1);
}

void CachingAllocator::remove_external(void* address) {
  if (forked_after_use()) return;
  std::lock_guard lock(impl_->mutex);
  const auto entry = impl_->externals.find(reinterpret_cast<std::uintptr_t>(address));
  if (entry == impl_->externals.end()) return;
  impl_->count_external(entry->second.first, -1);
  impl_->externals.erase(entry);
}

Status CachingAllocator::empty_cache(MempoolId pool) {
  if (forked_after_use()) return forked_status();
  Impl::Locked locked(*impl_);
  if (pool == MempoolId{0, 0}) return impl_->release_cached(locked, nullptr);
  auto entry = impl_->mempools.find(pool);
  if (entry == impl_->mempools.end()) return Status::ok();
  return impl_->release_cached(locked, entry->second.get());
}

}  // namespace spyre::device
