// Mempools: where allocations go while a route is open, and what may be trimmed.
#include <algorithm>
#include <utility>

#include "allocator_impl.h"
#include "fork_guard.h"

namespace spyre::device {

void CachingAllocator::begin_allocate_to_pool(MempoolId pool,
                                              std::function<bool(StreamId)> filter) {
  if (forked_after_use()) return;
  std::lock_guard lock(impl_->mutex);
  std::unique_ptr<Mempool>& entry = impl_->mempools[pool];
  if (entry == nullptr) {
    entry = std::make_unique<Mempool>();
    entry->id = pool;
  } else {
    ++entry->uses;
  }
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

Status CachingAllocator::empty_cache(MempoolId pool) {
  if (forked_after_use()) return forked_status();
  Impl::Locked locked(*impl_);
  if (pool == MempoolId{0, 0}) return impl_->release_cached(locked, nullptr);
  auto entry = impl_->mempools.find(pool);
  if (entry == impl_->mempools.end()) return Status::ok();
  return impl_->release_cached(locked, entry->second.get());
}

}  // namespace spyre::device
