// Reductions whose rounding error must not grow with the number of points: blocks of points, then
// blocks of kRadix blocks, and so on, as the digits of a counter carry.
//
// A State is an accumulator with join(): a block's accumulator, or a neighbouring State.
#ifndef SPYRE_KERNELS_CASCADE_H_
#define SPYRE_KERNELS_CASCADE_H_

#include "spyre_kernels/reduce.h"

namespace spyre::kernels {

inline constexpr int kRadix = 8;
// The last level takes what is left: 8^5 blocks.
inline constexpr int kCascadeLevels = 6;
// Points of a block of `reduce_lanes`, whose four partial results take 16 each; of one result;
// and of moments, which take divisions to join.
inline constexpr i64 kBlock = 1024;
inline constexpr i64 kHeavyBlock = 256;
inline constexpr i64 kMomentsBlock = 4096;

template <class State>
struct Cascade {
  State level[kCascadeLevels];
  u64 taken = 0;

  template <class Block>
  SPYRE_INLINE void take(const Block& block) {
    level[0].join(block);
    if (__builtin_expect(++taken % kRadix == 0, 0)) carry();
  }
  // Runs once in kRadix blocks: `cold` keeps its code, and the time to compile it, small.
  __attribute__((noinline, cold)) void carry() {
    u64 blocks = taken;
    for (int i = 0; i + 1 < kCascadeLevels && blocks % kRadix == 0; ++i, blocks /= kRadix) {
      level[i + 1].join(level[i]);
      level[i] = State{};
    }
  }
  __attribute__((noinline, cold)) State total() const {
    State all = level[0];
    for (int i = 1; i < kCascadeLevels; ++i) all.join(level[i]);
    return all;
  }
};

// One cascade per 16 columns of a tile; all of them take their blocks together.
template <class State, int kLevels>
struct ColumnCascade {
  union Cell {
    State state;
    SPYRE_INLINE Cell() {}  // only the columns that exist are set
  };
  Cell cells[kLevels][kColumnTile / kLanes];
  i64 steps, taken = 0;

  SPYRE_INLINE explicit ColumnCascade(i64 columns) : steps((columns + kLanes - 1) / kLanes) {
    for (int i = 0; i < kLevels; ++i) {
      for (i64 at = 0; at < steps; ++at) cells[i][at].state = State{};
    }
  }
  template <class Block>
  SPYRE_INLINE void take(i64 at, const Block& block) {
    cells[0][at].state.join(block);
  }
  // After every step has taken a block.
  SPYRE_INLINE void end_block() {
    if (++taken % kRadix == 0) carry();
  }
  __attribute__((noinline, cold)) void carry() {
    i64 blocks = taken;
    for (int i = 0; i + 1 < kLevels && blocks % kRadix == 0; ++i, blocks /= kRadix) {
      for (i64 at = 0; at < steps; ++at) {
        cells[i + 1][at].state.join(cells[i][at].state);
        cells[i][at].state = State{};
      }
    }
  }
  SPYRE_INLINE State total(i64 at) const {
    State all = cells[0][at].state;
    for (int i = 1; i < kLevels; ++i) all.join(cells[i][at].state);
    return all;
  }
};

// Sums of columns: a block is a group of rows, added up in a register.
template <class V, int kLevels>
struct ColumnSums : ColumnCascade<Along<Sum, V>, kLevels> {
  using ColumnCascade<Along<Sum, V>, kLevels>::ColumnCascade;
  SPYRE_INLINE Along<Sum, V> open(i64) const { return {}; }
  SPYRE_INLINE void close(i64 at, const Along<Sum, V>& rows) { this->take(at, rows); }
  SPYRE_INLINE void end_group() { this->end_block(); }
};

// As Along<Sum, V>.
template <class V>
struct LongSumAlong {
  Along<Sum, V> block;
  int points = 0;
  Cascade<Along<Sum, V>> blocks;

  SPYRE_INLINE void add(const V& x) {
    block.add(x);
    if (++points == kRadix) end_block();
  }
  SPYRE_INLINE void end_block() {
    blocks.take(block);
    block = {};
    points = 0;
  }
  SPYRE_INLINE V result() const { return Sum::combine(blocks.total().value, block.value); }
};

// As Across<Sum, T>; end_block() after at most kBlock points.
template <class T>
struct LongSumAcross {
  using V = typename LanesOf<T>::type;
  Across<Sum, T> block;
  Cascade<Along<Sum, V>> blocks;

  template <class Lanes>
  SPYRE_INLINE void add(Lanes lanes, int part, const V& x) {
    block.add(lanes, part, x);
  }
  SPYRE_INLINE void end_block() {
    blocks.take(Along<Sum, V>{block.in_lanes()});
    block = {};
  }
  SPYRE_INLINE T result() const {
    return fold<Sum>(Sum::combine(blocks.total().value, block.in_lanes()));
  }
};

// step(first, last) for blocks of [begin, end).
template <class F>
SPYRE_INLINE void for_blocks(i64 begin, i64 end, i64 block, F step) {
  for (i64 first = begin; first < end; first += block) step(first, least(first + block, end));
}

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_CASCADE_H_
