// Free blocks by size. Internal to the allocator; its lock guards it.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>

#include "block.h"

namespace spyre::device {

// Free blocks in bins of similar size: exact up to 8 KB, then 32 bins per power of two. Finding the
// best fit looks at one bin and a bitmap.
class FreeIndex {
 public:
  void insert(Block* block) {
    const int bin = bin_of(block->size);
    block->free_previous = nullptr;
    block->free_next = bins_[bin];
    if (bins_[bin] != nullptr) bins_[bin]->free_previous = block;
    bins_[bin] = block;
    occupied_[bin / 64] |= std::uint64_t{1} << (bin % 64);
  }

  void remove(Block* block) {
    const int bin = bin_of(block->size);
    if (block->free_next != nullptr) block->free_next->free_previous = block->free_previous;
    if (block->free_previous != nullptr) {
      block->free_previous->free_next = block->free_next;
      return;
    }
    bins_[bin] = block->free_next;
    if (bins_[bin] == nullptr) occupied_[bin / 64] &= ~(std::uint64_t{1} << (bin % 64));
  }

  // Smallest free block of at least `size` bytes; null when there is none. Does not remove it.
  Block* best_fit(std::size_t size) const {
    const int bin = bin_of(size);
    if (Block* block = smallest_in(bin, size)) return block;
    const int larger = next_occupied(bin + 1);  // every block there is large enough
    return larger < 0 ? nullptr : smallest_in(larger, size);
  }

 private:
  static constexpr int kExactBins = 64;
  static constexpr int kBinsPerOctave = 32;
  static constexpr int kBins = kExactBins + kBinsPerOctave * 40;
  static constexpr int kWords = kBins / 64;

  static int bin_of(std::size_t size) {
    const std::uint64_t units = size / kAlignBytes;
    if (units < kExactBins) return static_cast<int>(units);
    const int octave = std::bit_width(units) - 1;  // >= 6
    return kExactBins + (octave - 6) * kBinsPerOctave +
           static_cast<int>((units >> (octave - 5)) & (kBinsPerOctave - 1));
  }

  Block* smallest_in(int bin, std::size_t size) const {
    Block* best = nullptr;
    for (Block* block = bins_[bin]; block != nullptr; block = block->free_next) {
      if (block->size < size || (best != nullptr && block->size >= best->size)) continue;
      best = block;
      if (best->size == size) break;
    }
    return best;
  }

  int next_occupied(int bin) const {
    for (int word = bin / 64; word < kWords; ++word) {
      std::uint64_t bits = occupied_[word];
      if (word == bin / 64) bits &= ~std::uint64_t{0} << (bin % 64);
      if (bits != 0) return word * 64 + std::countr_zero(bits);
    }
    return -1;
  }

  Block* bins_[kBins] = {};
  std::uint64_t occupied_[kWords] = {};
};

}  // namespace spyre::device
