// Blocks, segments, and the two indexes over them: free blocks by size, all blocks by address.
// Internal to the allocator; its lock guards all of it.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stream.h"

namespace spyre::device {

inline constexpr std::size_t kAlignBytes = 128;  // one stick

struct Pool;
struct Segment;

// A piece of a segment. Neighbours by address are linked; free ones never touch.
struct Block {
  char* address = nullptr;
  std::size_t size = 0;
  std::size_t requested = 0;
  Segment* segment = nullptr;
  Block *previous = nullptr, *next = nullptr;            // by address, inside the segment
  Block *free_previous = nullptr, *free_next = nullptr;  // in a bin of FreeIndex
  bool allocated = false;
  bool active = false;                                   // allocated, or waits for other streams
  std::uint64_t history_id = 0;
  std::vector<StreamRef> users;                          // record_stream() since the allocation
};

// One commit of the arena.
struct Segment {
  char* base = nullptr;
  std::size_t size = 0;
  Pool* pool = nullptr;
  Block* first = nullptr;
  bool wholly_free() const { return !first->active && first->next == nullptr; }
};

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

// Start address -> block. Open addressing with backward shift: no tombstones.
class AddressIndex {
 public:
  Block* find(const void* address) const {
    for (std::size_t slot = slot_of(address); table_[slot] != nullptr; slot = next(slot)) {
      if (table_[slot]->address == address) return table_[slot];
    }
    return nullptr;
  }

  void insert(Block* block) {
    if (2 * ++count_ > table_.size()) grow();
    place(block);
  }

  void erase(const Block* block) {
    std::size_t hole = slot_of(block->address);
    while (table_[hole] != block) hole = next(hole);
    for (std::size_t slot = next(hole); table_[slot] != nullptr; slot = next(slot)) {
      const std::size_t home = slot_of(table_[slot]->address);
      if (((slot - home) & mask()) < ((slot - hole) & mask())) continue;  // would pass its home
      table_[hole] = table_[slot];
      hole = slot;
    }
    table_[hole] = nullptr;
    --count_;
  }

 private:
  std::size_t mask() const { return table_.size() - 1; }
  std::size_t next(std::size_t slot) const { return (slot + 1) & mask(); }
  std::size_t slot_of(const void* address) const {
    const auto key = reinterpret_cast<std::uintptr_t>(address) / kAlignBytes;
    return (key * 0x9e3779b97f4a7c15ULL >> 20) & mask();
  }
  void place(Block* block) {
    std::size_t slot = slot_of(block->address);
    while (table_[slot] != nullptr) slot = next(slot);
    table_[slot] = block;
  }
  void grow() {
    std::vector<Block*> old(table_.size() * 2, nullptr);
    old.swap(table_);
    for (Block* block : old) {
      if (block != nullptr) place(block);
    }
  }

  std::vector<Block*> table_ = std::vector<Block*>(1024, nullptr);
  std::size_t count_ = 0;
};

}  // namespace spyre::device
