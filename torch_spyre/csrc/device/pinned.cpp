#include "pinned.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "event.h"
#include "fork_guard.h"

namespace spyre::device {
namespace {

constexpr std::size_t kPinnedPageBytes = 4096;

struct PinnedBlock {
  std::size_t size = 0;
  bool live = false;
  std::vector<StreamRef> users;  // since the allocation
  std::vector<Event> events;     // of a freed block: reusable once all are complete
};

// Blocks are powers of two, so a freed one serves any request of its class.
struct PinnedCache {
  std::mutex mutex;  // guards all but live_blocks
  std::map<char*, PinnedBlock> blocks;
  std::map<std::size_t, std::vector<char*>> free;  // by size; some may still be in use by streams
  PinnedStats stats;
  std::atomic<std::int64_t> block_count{0};
};

PinnedCache& cache() {
  static PinnedCache* const instance = new PinnedCache();  // leaked: tensors may outlive statics
  return *instance;
}

bool unused(const PinnedBlock& block) {
  return std::all_of(block.events.begin(), block.events.end(),
                     [](const Event& event) { return event.query(); });
}

// The live or cached block that holds `address`; end() when none does.
std::map<char*, PinnedBlock>::iterator block_holding(PinnedCache& pinned, const void* address) {
  auto* key = static_cast<char*>(const_cast<void*>(address));
  auto entry = pinned.blocks.upper_bound(key);
  if (entry == pinned.blocks.begin()) return pinned.blocks.end();
  --entry;
  return key < entry->first + entry->second.size ? entry : pinned.blocks.end();
}

char* take_free(PinnedCache& pinned, std::size_t size) {
  std::vector<char*>& list = pinned.free[size];
  for (std::size_t i = list.size(); i-- > 0;) {
    char* address = list[i];
    PinnedBlock& block = pinned.blocks.at(address);
    if (!unused(block)) continue;
    block.events.clear();
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
    return address;
  }
  return nullptr;
}

char* map_new(PinnedCache& pinned, std::size_t size) {
  void* address = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) return nullptr;
  pinned.blocks[static_cast<char*>(address)].size = size;
  pinned.block_count.fetch_add(1, std::memory_order_release);
  ++pinned.stats.segments_current;
  pinned.stats.reserved_bytes_current += static_cast<std::int64_t>(size);
  pinned.stats.reserved_bytes_peak =
      std::max(pinned.stats.reserved_bytes_peak, pinned.stats.reserved_bytes_current);
  return static_cast<char*>(address);
}

}  // namespace

Status pinned_allocate(std::size_t nbytes, void** out) {
  *out = nullptr;
  if (forked_after_use()) return forked_status();
  if (nbytes == 0) return Status::ok();
  mark_device_used();
  char* address = nullptr;
  PinnedCache& pinned = cache();
  std::lock_guard lock(pinned.mutex);
  if (nbytes <= std::size_t{1} << 46) {
    const std::size_t size = std::bit_ceil(std::max(nbytes, kPinnedPageBytes));
    address = take_free(pinned, size);
    if (address == nullptr) address = map_new(pinned, size);
  }
  if (address == nullptr) {
    return Status::error(StatusCode::kOutOfMemory, "cannot allocate " + std::to_string(nbytes) +
                                                       " bytes of pinned host memory");
  }
  PinnedBlock& block = pinned.blocks.at(address);
  block.live = true;
  PinnedStats& stats = pinned.stats;
  ++stats.allocations_current;
  ++stats.allocations_total;
  stats.allocated_bytes_current += static_cast<std::int64_t>(block.size);
  stats.allocated_bytes_peak = std::max(stats.allocated_bytes_peak, stats.allocated_bytes_current);
  *out = address;
  return Status::ok();
}

void pinned_free(void* address) {
  if (address == nullptr || forked_after_use()) return;
  PinnedCache& pinned = cache();
  std::lock_guard lock(pinned.mutex);
  auto entry = pinned.blocks.find(static_cast<char*>(address));
  if (entry == pinned.blocks.end() || !entry->second.live) return;
  PinnedBlock& block = entry->second;
  block.live = false;
  for (const StreamRef& user : block.users) {
    Event event(user.device);
    if (event.record(user).is_ok()) block.events.push_back(event);
  }
  block.users.clear();
  --pinned.stats.allocations_current;
  pinned.stats.allocated_bytes_current -= static_cast<std::int64_t>(block.size);
  pinned.free[block.size].push_back(entry->first);
}

bool is_pinned(const void* address) {
  PinnedCache& pinned = cache();
  if (pinned.block_count.load(std::memory_order_acquire) == 0 || forked_after_use()) return false;
  std::lock_guard lock(pinned.mutex);
  auto entry = block_holding(pinned, address);
  return entry != pinned.blocks.end() && entry->second.live;
}

void pinned_record_stream(void* address, StreamRef stream) {
  if (forked_after_use()) return;
  PinnedCache& pinned = cache();
  std::lock_guard lock(pinned.mutex);
  auto entry = block_holding(pinned, address);
  if (entry == pinned.blocks.end() || !entry->second.live) return;
  std::vector<StreamRef>& users = entry->second.users;
  if (std::find(users.begin(), users.end(), stream) == users.end()) users.push_back(stream);
}

void pinned_empty_cache() {
  if (forked_after_use()) return;
  PinnedCache& pinned = cache();
  std::lock_guard lock(pinned.mutex);
  for (auto& [size, list] : pinned.free) {
    std::erase_if(list, [&pinned, size = size](char* address) {
      if (!unused(pinned.blocks.at(address))) return false;
      munmap(address, size);
      pinned.blocks.erase(address);
      pinned.block_count.fetch_sub(1, std::memory_order_release);
      --pinned.stats.segments_current;
      pinned.stats.reserved_bytes_current -= static_cast<std::int64_t>(size);
      return true;
    });
  }
}

PinnedStats pinned_stats() {
  if (forked_after_use()) return {};
  std::lock_guard lock(cache().mutex);
  return cache().stats;
}

void pinned_reset_peak_stats() {
  if (forked_after_use()) return;
  std::lock_guard lock(cache().mutex);
  PinnedStats& stats = cache().stats;
  stats.allocated_bytes_peak = stats.allocated_bytes_current;
  stats.reserved_bytes_peak = stats.reserved_bytes_current;
}

}  // namespace spyre::device
