// Blocks by address. Internal to the allocator; its lock guards it.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "block.h"

namespace spyre::device {

// Start address -> block. Open addressing with backward shift: no tombstones.
class StartIndex {
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

// A set of numbers below a limit that finds the largest member not above a number: a tree of 64-way
// bitmaps. Untouched parts cost address space only.
class BitTree {
 public:
  explicit BitTree(std::size_t limit) {
    do {
      limit = (limit + 63) / 64;
      levels_.emplace_back(static_cast<std::uint64_t*>(std::calloc(limit, sizeof(std::uint64_t))));
      if (levels_.back() == nullptr) throw std::bad_alloc();
    } while (limit > 1);
  }

  void insert(std::size_t number) {
    for (auto& level : levels_) {
      std::uint64_t& word = level[number / 64];
      const bool was_empty = word == 0;
      word |= std::uint64_t{1} << (number % 64);
      if (!was_empty) return;
      number /= 64;
    }
  }

  void erase(std::size_t number) {
    for (auto& level : levels_) {
      std::uint64_t& word = level[number / 64];
      word &= ~(std::uint64_t{1} << (number % 64));
      if (word != 0) return;
      number /= 64;
    }
  }

  // There must be such a member.
  std::size_t last_not_above(std::size_t number) const {
    std::size_t depth = 0;
    std::uint64_t bits = levels_[0][number / 64] & (~std::uint64_t{0} >> (63 - number % 64));
    while (bits == 0) {
      number /= 64;
      ++depth;
      bits = levels_[depth][number / 64] & ((std::uint64_t{1} << (number % 64)) - 1);
    }
    for (;;) {
      number = number / 64 * 64 + 63 - static_cast<std::size_t>(std::countl_zero(bits));
      if (depth == 0) return number;
      bits = levels_[--depth][number];
      number *= 64;
    }
  }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::vector<std::unique_ptr<std::uint64_t[], Free>> levels_;
};

// All blocks of an arena. Both indexes hold every block, free or not, so the fast path of a block
// that is used again touches neither.
class AddressIndex {
 public:
  AddressIndex(const char* base, std::size_t nbytes) : base_(base), order_(nbytes / kAlignBytes) {}

  void insert(Block* block) {
    starts_.insert(block);
    order_.insert(unit_of(block->address));
  }
  void erase(const Block* block) {
    starts_.erase(block);
    order_.erase(unit_of(block->address));
  }
  Block* starting_at(const void* address) const { return starts_.find(address); }

  // The block with the highest start not above `address`, which must be inside a segment.
  Block* holding(const void* address) const {
    return starts_.find(base_ + order_.last_not_above(unit_of(address)) * kAlignBytes);
  }

 private:
  std::size_t unit_of(const void* address) const {
    return static_cast<std::size_t>(static_cast<const char*>(address) - base_) / kAlignBytes;
  }

  const char* base_;
  StartIndex starts_;
  BitTree order_;
};

}  // namespace spyre::device
