// Blocks and segments: the pieces of a card's memory. Internal to the allocator; its lock guards
// them.
#pragma once
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
  bool active = false;  // allocated, or waits for other streams
  std::uint64_t history_id = 0;
  std::vector<StreamRef> users;  // record_stream() since the allocation
};

// One commit of the arena.
struct Segment {
  char* base = nullptr;
  std::size_t size = 0;
  Pool* pool = nullptr;
  Block* first = nullptr;
  bool wholly_free() const { return !first->active && first->next == nullptr; }
};

}  // namespace spyre::device
