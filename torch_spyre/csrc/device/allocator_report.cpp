// What the allocator tells: statistics, snapshot, the out-of-memory message, trace; and mempools.
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "allocator_impl.h"
#include "fork_guard.h"

namespace spyre::device {
namespace {

std::string human(std::size_t nbytes) {
  if (nbytes < 1024) return std::to_string(nbytes) + " bytes";
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(nbytes) / 1024.0;
  std::size_t unit = 0;
  for (; value >= 1024.0 && unit < 3; ++unit) value /= 1024.0;
  char text[48];
  std::snprintf(text, sizeof(text), "%.2f %s", value, kUnits[unit]);
  return text;
}

template <class F>
void for_each_stat(AllocatorStats& stats, F visit) {
  for (int kind = 0; kind < 3; ++kind) {
    for (auto* group : {&stats.allocation, &stats.segment, &stats.active, &stats.inactive_split,
                        &stats.allocated_bytes, &stats.reserved_bytes, &stats.active_bytes,
                        &stats.inactive_split_bytes, &stats.requested_bytes}) {
      visit((*group)[kind]);
    }
  }
  visit(stats.oversize_allocations);
  visit(stats.oversize_segments);
}

SegmentInfo describe(const Segment& segment) {
  SegmentInfo info;
  info.address = reinterpret_cast<std::uintptr_t>(segment.base);
  info.total_bytes = segment.size;
  info.stream = segment.pool->stream;
  info.is_large = segment.pool->large;
  info.pool_id[0] = segment.pool->owner->id.first;
  info.pool_id[1] = segment.pool->owner->id.second;
  for (const Block* block = segment.first; block != nullptr; block = block->next) {
    BlockInfo entry;
    entry.address = reinterpret_cast<std::uintptr_t>(block->address);
    entry.size_bytes = block->size;
    entry.requested_bytes = block->active ? block->requested : 0;
    entry.allocated = block->allocated;
    entry.active = block->active;
    entry.history_id = block->history_id;
    if (block->allocated) info.allocated_bytes += block->size;
    if (block->active) info.active_bytes += block->size;
    info.requested_bytes += entry.requested_bytes;
    info.blocks.push_back(entry);
  }
  return info;
}

}  // namespace

CachingAllocator::Impl::Locked::~Locked() {
  std::shared_ptr<Tracer> tracer = entries_.empty() ? nullptr : impl_.tracer;
  lock_.unlock();
  if (tracer == nullptr) return;
  for (const TraceEntry& entry : entries_) {
    (*tracer)(entry.kind, entry.address, entry.nbytes, entry.stream);
  }
}

void CachingAllocator::Impl::count(StatValue (&stat)[3], bool large, std::int64_t amount) {
  for (StatValue* value : {&stat[0], &stat[large ? 2 : 1]}) {
    value->current += amount;
    if (amount > 0) {
      value->allocated += amount;
      value->peak = std::max(value->peak, value->current);
    } else {
      value->freed -= amount;
    }
  }
}

Status CachingAllocator::Impl::out_of_memory(std::size_t nbytes, Locked& locked) {
  ++stats.num_ooms;
  locked.trace(TraceKind::kOom, nullptr, nbytes, 0);
  const auto allocated = static_cast<std::size_t>(stats.allocated_bytes[0].current);
  const auto reserved = static_cast<std::size_t>(stats.reserved_bytes[0].current);
  const std::size_t free_bytes = capacity_bytes - std::min(capacity_bytes, reserved);
  std::string text = "Spyre out of memory. Tried to allocate " + human(nbytes) + ". Card " +
                     std::to_string(device) + " has a total capacity of " + human(capacity_bytes) +
                     " of which " + human(free_bytes) + " is free. ";
  if (fraction < 1.0) text += human(limit_bytes()) + " allowed; ";
  text += "Of the allocated memory " + human(allocated) + " is allocated by PyTorch, and " +
          human(reserved - std::min(reserved, allocated)) +
          " is reserved by PyTorch but unallocated. The capacity is set by SPYRE_MEMORY_BYTES.";
  return Status::error(StatusCode::kOutOfMemory, std::move(text));
}

AllocatorStats CachingAllocator::stats() const {
  if (forked_after_use()) return {};
  std::lock_guard lock(impl_->mutex);
  return impl_->stats;
}

void CachingAllocator::reset_accumulated_stats() {
  if (forked_after_use()) return;
  std::lock_guard lock(impl_->mutex);
  AllocatorStats& stats = impl_->stats;
  for_each_stat(stats, [](StatValue& value) { value.allocated = value.freed = 0; });
  stats.num_alloc_retries = stats.num_ooms = stats.num_sync_all_streams = 0;
  stats.num_device_alloc = stats.num_device_free = 0;
}

void CachingAllocator::reset_peak_stats() {
  if (forked_after_use()) return;
  std::lock_guard lock(impl_->mutex);
  for_each_stat(impl_->stats, [](StatValue& value) { value.peak = value.current; });
}

void CachingAllocator::memory_info(std::size_t* free_bytes, std::size_t* total_bytes) const {
  *free_bytes = *total_bytes = impl_->capacity_bytes;
  if (forked_after_use()) return;
  std::lock_guard lock(impl_->mutex);
  const auto reserved = static_cast<std::size_t>(impl_->stats.reserved_bytes[0].current);
  *free_bytes -= std::min(reserved, *total_bytes);
}

Status CachingAllocator::set_memory_fraction(double fraction) {
  if (forked_after_use()) return forked_status();
  if (!(fraction >= 0.0 && fraction <= 1.0)) {
    return Status::error(StatusCode::kInvalidArgument,
                         "memory fraction " + std::to_string(fraction) + " is not in [0, 1]");
  }
  std::lock_guard lock(impl_->mutex);
  impl_->fraction = fraction;
  return Status::ok();
}

double CachingAllocator::memory_fraction() const {
  if (forked_after_use()) return 1.0;
  std::lock_guard lock(impl_->mutex);
  return impl_->fraction;
}

std::vector<SegmentInfo> CachingAllocator::snapshot() const {
  std::vector<SegmentInfo> result;
  if (forked_after_use()) return result;
  std::lock_guard lock(impl_->mutex);
  for (const auto& [base, segment] : impl_->segments) result.push_back(describe(*segment));
  for (const auto& [address, external] : impl_->externals) {
    const auto& [nbytes, pool] = external;
    SegmentInfo info;
    info.address = address;
    info.is_large = true;
    info.total_bytes = info.allocated_bytes = info.active_bytes = info.requested_bytes = nbytes;
    info.pool_id[0] = pool.first;
    info.pool_id[1] = pool.second;
    info.blocks.push_back({address, nbytes, nbytes, true, true, 0});
    result.push_back(std::move(info));
  }
  return result;
}

void CachingAllocator::set_tracer(Tracer tracer) {
  if (forked_after_use()) return;
  auto replacement = tracer ? std::make_shared<Tracer>(std::move(tracer)) : nullptr;
  std::lock_guard lock(impl_->mutex);
  impl_->tracer.swap(replacement);
}

}  // namespace spyre::device
