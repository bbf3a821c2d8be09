// How an iteration space is walked: cores, then tiles, then 16 lanes at a time.
#ifndef SPYRE_KERNELS_LOOPS_H_
#define SPYRE_KERNELS_LOOPS_H_

#include "spyre/kernel_abi.h"
#include "spyre_kernels/memory.h"

namespace spyre::kernels {

template <class M>
SPYRE_INLINE M* buffer(const spyre_kernel_args* args, int slot) {
  return (M*)args->buffers[slot];
}
SPYRE_INLINE f64 scalar_f64(const spyre_kernel_args* args, int slot) {
  return __builtin_bit_cast(f64, args->scalars[slot]);
}

// Points [begin, end) of a core.
struct Slice {
  i64 begin, end;
};
SPYRE_INLINE i64 least(i64 a, i64 b) { return a < b ? a : b; }

SPYRE_INLINE i64 most(i64 a, i64 b) { return a > b ? a : b; }

// Index expressions divide as Python does.
SPYRE_INLINE i64 index_floordiv(i64 a, i64 b) {
  const i64 q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}
SPYRE_INLINE i64 index_mod(i64 a, i64 b) { return a - index_floordiv(a, b) * b; }
SPYRE_INLINE i64 index_ceildiv(i64 a, i64 b) { return -index_floordiv(-a, b); }
SPYRE_INLINE i64 index_lshift(i64 a, i64 b) { return i64(u64(a) << b); }
SPYRE_INLINE i64 index_rshift(i64 a, i64 b) { return a >> b; }
SPYRE_INLINE i64 index_pow(i64 base, i64 exponent) {
  i64 power = 1;
  for (; exponent > 0; --exponent) power *= base;
  return power;
}

// Core c of C gets units [c*n/C, (c+1)*n/C) of n = ceil(points / grain).
SPYRE_INLINE Slice core_slice(i64 points, i64 grain, int core, int cores) {
  const i64 units = (points + grain - 1) / grain;
  return {least(units * core / cores * grain, points),
          least(units * (core + 1) / cores * grain, points)};
}

// The part of a slice of (outer x extent) points that lies in one row: outer, [begin, end).
struct Run {
  i64 outer, begin, end;
};
template <class F>
SPYRE_INLINE void for_runs(Slice slice, i64 extent, F step) {
  if (extent <= 0) return;
  i64 outer = slice.begin / extent, begin = slice.begin % extent;
  for (i64 point = slice.begin; point < slice.end;) {
    const i64 end = least(begin + (slice.end - point), extent);
    step(Run{outer, begin, end});
    point += end - begin;
    begin = 0;
    ++outer;
  }
}

// A row of a core's LX: on the stack, which the host keeps in L2; a row beyond kLxStackBytes (sizes
// known at launch only) comes from the heap.
inline constexpr i64 kLxStackBytes = 1536 * 1024;
extern "C" void* malloc(unsigned long) noexcept;
extern "C" void free(void*) noexcept;
struct LxHeap {
  void* block = nullptr;
  ~LxHeap() {
    if (block != nullptr) free(block);
  }
  void* take(i64 bytes) { return block = malloc(bytes + kRegisterBytes); }
};
#define SPYRE_LX(TYPE, NAME, COUNT)                                                              \
  LxHeap NAME##_heap;                                                                            \
  TYPE* const NAME = (TYPE*)(i64((COUNT) * sizeof(TYPE)) <= kLxStackBytes                        \
                                 ? __builtin_alloca_with_align((COUNT) * sizeof(TYPE) + 64, 512) \
                                 : NAME##_heap.take((COUNT) * sizeof(TYPE)))

// Rows that are read across together: step(first, last) for points [begin, end), in groups of at
// most kRunGroup that do not cross a multiple of `extent`.
inline constexpr i64 kRunGroup = 32;
template <class F>
SPYRE_INLINE void for_row_groups(i64 begin, i64 end, i64 extent, F step) {
  for (i64 first = begin; first < end;) {
    const i64 last = least(first + least(kRunGroup, extent - first % extent), end);
    step(first, last);
    first = last;
  }
}
// As for_runs, but consecutive rows that share [begin, end) come together, grouped as above:
// step(first, last, begin, end) with first <= outer < last.
template <class F>
SPYRE_INLINE void for_run_groups(Slice slice, i64 extent, i64 rows, F step) {
  if (extent <= 0) return;
  for (i64 point = slice.begin; point < slice.end;) {
    const i64 outer = point / extent, begin = point % extent;
    const i64 whole = begin == 0 ? (slice.end - point) / extent : 0;
    if (whole > 0) {
      for_row_groups(outer, outer + whole, rows,
                     [&](i64 first, i64 last) SPYRE_STEP { step(first, last, i64(0), extent); });
      point += whole * extent;
    } else {
      const i64 end = least(begin + (slice.end - point), extent);
      step(outer, outer + 1, begin, end);
      point += end - begin;
    }
  }
}

SPYRE_INLINE Tail tail(i64 count) { return {int(count), u32((u64(1) << count) - 1)}; }

// step(lanes, first) for [begin, end), 16 points at a time.
template <class F>
SPYRE_INLINE void for_lanes(i64 begin, i64 end, F step) {
  i64 i = begin;
  for (; i + kLanes <= end; i += kLanes) step(Full{}, i);
  if (i < end) step(tail(end - i), i);
}

// As for_lanes where `begin` and `end` are known to be multiples of 16: half the code.
template <class F>
SPYRE_INLINE void for_whole_lanes(i64 begin, i64 end, F step) {
  for (i64 i = begin; i < end; i += kLanes) step(Full{}, i);
}
// As for_lanes for a long step: masked lanes throughout, where those cost less than code.
template <class F>
SPYRE_INLINE void for_masked_lanes(i64 begin, i64 end, F step) {
#if defined(SPYRE_AVX512)
  for (i64 i = begin; i < end; i += kLanes) step(tail(least(end - i, kLanes)), i);
#else
  for_lanes(begin, end, step);
#endif
}

// step(first, last) for tiles of columns whose accumulators fit the first-level cache.
inline constexpr i64 kColumnTile = 1024;
inline constexpr i64 kRowGroup = 4;
template <class F>
SPYRE_INLINE void for_columns(i64 begin, i64 end, F step) {
  for (i64 first = begin; first < end; first += kColumnTile) {
    step(first, least(first + kColumnTile, end));
  }
}

// step(lanes, first, part) for [begin, end): four independent partial results hide the latency of
// the combining operation. What is left of four whole steps comes as Tail.
inline constexpr int kParts = 4;
template <class F>
SPYRE_INLINE void reduce_lanes(i64 begin, i64 end, F step) {
  i64 i = begin;
  for (; i + kParts * kLanes <= end; i += kParts * kLanes) {
    // Unrolled, `part` is a constant and the partial results live in registers.
#pragma GCC unroll 4
    for (int part = 0; part < kParts; ++part) step(Full{}, i + part * kLanes, part);
  }
  for (; i < end; i += kLanes) step(tail(least(end - i, kLanes)), i, 0);
}
// As reduce_lanes where the extent is known to be a multiple of four whole steps.
template <class F>
SPYRE_INLINE void reduce_whole_lanes(i64 begin, i64 end, F step) {
  for (i64 i = begin; i < end; i += kParts * kLanes) {
#pragma GCC unroll 4
    for (int part = 0; part < kParts; ++part) step(Full{}, i + part * kLanes, part);
  }
}

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_LOOPS_H_
