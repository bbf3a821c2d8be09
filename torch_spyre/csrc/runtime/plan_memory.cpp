#include "runtime/plan_memory.h"

#include <algorithm>
#include <numeric>

namespace spyre::runtime {
namespace {

constexpr std::int64_t kAlignment = 128;

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

bool meet(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

}  // namespace

Packing pack(const std::vector<Lifetime>& lifetimes) {
  const std::size_t count = lifetimes.size();
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return lifetimes[a].bytes > lifetimes[b].bytes;
  });
  Packing packing;
  packing.offsets.assign(count, 0);
  std::vector<std::size_t> placed;  // sorted by offset
  for (const std::size_t index : order) {
    const std::int64_t bytes = aligned(lifetimes[index].bytes);
    std::int64_t offset = 0;
    for (const std::size_t other : placed) {
      if (!meet(lifetimes[index], lifetimes[other])) continue;
      if (packing.offsets[other] >= offset + bytes) break;  // the gap before `other` is wide enough
      offset = std::max(offset, packing.offsets[other] + aligned(lifetimes[other].bytes));
    }
    packing.offsets[index] = offset;
    packing.total_bytes = std::max(packing.total_bytes, offset + bytes);
    const auto position = std::upper_bound(
        placed.begin(), placed.end(), offset,
        [&](std::int64_t value, std::size_t i) { return value < packing.offsets[i]; });
    placed.insert(position, index);
  }
  return packing;
}

}  // namespace spyre::runtime
