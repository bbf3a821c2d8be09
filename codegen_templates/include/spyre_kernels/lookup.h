// Tables of 16 numbers that live in registers.
#ifndef SPYRE_KERNELS_LOOKUP_H_
#define SPYRE_KERNELS_LOOKUP_H_

#include "spyre_kernels/native.h"

namespace spyre::kernels {

struct Table16 {
  f32 entries[kLanes];
};

// table[number & 15] in each lane.
SPYRE_INLINE f32v lookup(const Table16& table, const i32v& number) {
#if defined(SPYRE_AVX512)
  const auto all = from_array<f32>(table.entries).v;
  return {__builtin_ia32_permvarsf512_mask(all, number.v, all, u16(-1))};
#elif defined(SPYRE_AVX2)
  const f32v all = from_array<f32>(table.entries);
  const i32v upper = number << splat<i32>(28);  // bit 3 becomes the sign, which blends
  const auto pick = [&](auto half, auto sign) SPYRE_STEP {
    return __builtin_ia32_blendvps256(__builtin_ia32_permvarsf256(all.lo.v, half),
                                      __builtin_ia32_permvarsf256(all.hi.v, half),
                                      (Register<f32, 8>::type)sign);
  };
  return {{pick(number.lo.v, upper.lo.v)}, {pick(number.hi.v, upper.hi.v)}};
#else
  return each_lane<f32>([&](i32 n) { return table.entries[n & 15]; }, number);
#endif
}

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_LOOKUP_H_
