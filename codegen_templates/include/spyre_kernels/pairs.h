// bfloat16 in pairs of steps: one register of memory holds 32 points, whose even ones are the low
// halves of 16 words and whose odd ones the high halves. Evens and Odds take a shift or a mask
// where 16 neighbours take a permutation, and both their results are stored at once.
//
// A kernel runs in pairs when all it reads and writes along the lanes is bfloat16, side by side.
#ifndef SPYRE_KERNELS_PAIRS_H_
#define SPYRE_KERNELS_PAIRS_H_

#include "spyre_kernels/bfloat16.h"
#include "spyre_kernels/loops.h"
#include "spyre_kernels/stream.h"

namespace spyre::kernels {

// Points i, i + 2, i + 4 ... of a step at i; `held`: the results that wait for their neighbours.
struct Evens : Full {
  u32v* held;
};
// Points i + 1, i + 3, i + 5 ...
struct Odds : Full {
  const u32v* held;
};

// step(Evens, i) and step(Odds, i) for [begin, end), multiples of 32; kHeld stores wait.
template <int kHeld, class F>
SPYRE_INLINE void for_paired_lanes(i64 begin, i64 end, F step) {
  for (i64 i = begin; i < end; i += 2 * kLanes) {
    u32v held[kHeld];
    step(Evens{{}, held}, i);
    step(Odds{{}, held}, i);
  }
}
// As reduce_whole_lanes; a multiple of 64.
template <int kHeld, class F>
SPYRE_INLINE void reduce_paired_lanes(i64 begin, i64 end, F step) {
  for (i64 i = begin; i < end; i += kParts * kLanes) {
#pragma GCC unroll 2
    for (int part = 0; part < kParts; part += 2) {
      u32v held[kHeld];
      step(Evens{{}, held}, i + part * kLanes, part);
      step(Odds{{}, held}, i + part * kLanes, part + 1);
    }
  }
}

SPYRE_INLINE u32v words_of(const bf16* p) {
  return __builtin_bit_cast(u32v, from_array<u16, 2 * kLanes>((const u16*)p));
}
SPYRE_INLINE f32v load(Evens, const bf16* p) { return bitcast<f32>(words_of(p) << splat<u32>(16)); }
SPYRE_INLINE f32v load(Odds, const bf16* p) {
  return bitcast<f32>(words_of(p) & splat<u32>(0xffff0000));
}
template <int kSlot, Nan kNan>
SPYRE_INLINE void store(Evens lanes, bf16*, const f32v& x) {
  lanes.held[kSlot] = rounded_words<kNan>(x) >> splat<u32>(16);
}
template <int kSlot, Nan kNan>
SPYRE_INLINE u32v joined(Odds lanes, const f32v& x) {
  return lanes.held[kSlot] | (rounded_words<kNan>(x) & splat<u32>(0xffff0000));
}
template <int kSlot, Nan kNan>
SPYRE_INLINE void store(Odds lanes, bf16* p, const f32v& x) {
  to_array((u16*)p, __builtin_bit_cast(Pack<u16, 2 * kLanes>, joined<kSlot, kNan>(lanes, x)));
}
template <int kSlot, Nan kNan>
SPYRE_INLINE void stream(Evens lanes, bf16* p, const f32v& x) {
  store<kSlot, kNan>(lanes, p, x);
}
template <int kSlot, Nan kNan>
SPYRE_INLINE void stream(Odds lanes, bf16* p, const f32v& x) {
  if (__builtin_expect(((u64)p & 63) == 0, 1)) {
    stream_pack((u32*)p, joined<kSlot, kNan>(lanes, x));
  } else {
    store<kSlot, kNan>(lanes, p, x);
  }
}

// Rows in LX keep the order of the steps: 16 even points, then 16 odd ones.
SPYRE_INLINE f32v load(Evens, const f32* row) { return load(Full{}, row); }
SPYRE_INLINE f32v load(Odds, const f32* row) { return load(Full{}, row + kLanes); }
SPYRE_INLINE void store(Evens, f32* row, const f32v& x) { store(Full{}, row, x); }
SPYRE_INLINE void store(Odds, f32* row, const f32v& x) { store(Full{}, row + kLanes, x); }

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_PAIRS_H_
