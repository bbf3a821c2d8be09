#include "arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "allocator.h"

namespace spyre::device {
namespace {

constexpr std::size_t kReserveFactor = 4;
constexpr std::size_t kMaxReserveBytes = std::size_t{1} << 42;
constexpr std::size_t kMaxCards = 64;  // as options.cpp

struct Range {
  std::atomic<std::uintptr_t> begin{0}, end{0};
};
std::array<Range, kMaxCards> ranges;
std::atomic<int> range_count{0};

void publish(int device, std::uintptr_t begin, std::uintptr_t end) {
  Range& range = ranges[static_cast<std::size_t>(device)];
  range.begin.store(begin, std::memory_order_relaxed);
  range.end.store(end, std::memory_order_release);
  int count = range_count.load();
  while (count <= device && !range_count.compare_exchange_weak(count, device + 1)) {
  }
}

void* reserve(std::size_t nbytes) {
  void* address =
      mmap(nullptr, nbytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return address == MAP_FAILED ? nullptr : address;
}

}  // namespace

Arena::Arena(int device, std::size_t capacity_bytes) {
  const std::size_t pages = capacity_bytes / kPageBytes;
  const std::size_t limit = std::max(pages, kMaxReserveBytes / kPageBytes);
  for (std::size_t want = std::min(pages * kReserveFactor, limit); want > 0; want /= 2) {
    void* address = reserve((want + 1) * kPageBytes);  // one more to align the start
    if (address == nullptr) continue;
    const auto start = (reinterpret_cast<std::uintptr_t>(address) + kPageBytes - 1) &
                       ~(std::uintptr_t{kPageBytes} - 1);
    base_ = reinterpret_cast<char*>(start);
    page_count_ = want;
    free_runs_[0] = want;
    publish(device, start, start + want * kPageBytes);
    return;
  }
}

char* Arena::commit(std::size_t nbytes) {
  const std::size_t pages = nbytes / kPageBytes;
  auto run = std::find_if(free_runs_.begin(), free_runs_.end(),
                          [pages](const auto& entry) { return entry.second >= pages; });
  if (run == free_runs_.end()) return nullptr;
  char* address = base_ + run->first * kPageBytes;
  if (mprotect(address, nbytes, PROT_READ | PROT_WRITE) != 0) return nullptr;
  madvise(address, nbytes, MADV_HUGEPAGE);  // only speed depends on it
  const auto [first, count] = *run;
  free_runs_.erase(run);
  if (count > pages) free_runs_[first + pages] = count - pages;
  return address;
}

void Arena::release(char* address, std::size_t nbytes) {
  // A fresh mapping in place gives the memory back and keeps the addresses ours.
  mmap(address, nbytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  std::size_t first = page_of(address), count = nbytes / kPageBytes;
  auto next = free_runs_.lower_bound(first);
  if (next != free_runs_.end() && next->first == first + count) {
    count += next->second;
    next = free_runs_.erase(next);
  }
  if (next != free_runs_.begin()) {
    auto previous = std::prev(next);
    if (previous->first + previous->second == first) {
      previous->second += count;
      return;
    }
  }
  free_runs_[first] = count;
}

int device_of_address(const void* address) {
  const auto value = reinterpret_cast<std::uintptr_t>(address);
  const int count = range_count.load(std::memory_order_acquire);
  for (int device = 0; device < count; ++device) {
    const Range& range = ranges[static_cast<std::size_t>(device)];
    if (value < range.end.load(std::memory_order_acquire) &&
        value >= range.begin.load(std::memory_order_relaxed)) {
      return device;
    }
  }
  return -1;
}

}  // namespace spyre::device
