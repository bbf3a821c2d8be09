// Philox4x32-10 under the key `seed` at counter (offset, 0): numbers depend on seed and offset
// only, never on lanes, tiles or cores. Distributions as in TorchInductor's Triton kernels.
//
// Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
#ifndef SPYRE_KERNELS_RANDOM_H_
#define SPYRE_KERNELS_RANDOM_H_

#include "spyre_kernels/logarithm.h"
#include "spyre_kernels/trigonometry.h"

namespace spyre::kernels {

struct PhiloxWords {
  u32v w0, w1, w2, w3;
};
struct WidePair {
  u32v high, low;
};
SPYRE_INLINE WidePair multiply_wide(const u32v& a, u32 b) {
  const u64v product = convert_pack<u64>(a) * splat<u64>(b);
  return {convert_pack<u32>(product >> splat<u64>(32)), convert_pack<u32>(product)};
}
SPYRE_INLINE PhiloxWords philox(const i64v& seed, const i64v& offset) {
  const u64v key = bitcast<u64>(seed), counter = bitcast<u64>(offset);
  u32v k0 = convert_pack<u32>(key), k1 = convert_pack<u32>(key >> splat<u64>(32));
  u32v c0 = convert_pack<u32>(counter), c1 = convert_pack<u32>(counter >> splat<u64>(32));
  u32v c2 = splat<u32>(0), c3 = c2;
  for (int round = 0; round < 10; ++round) {
    const WidePair first = multiply_wide(c0, 0xD2511F53u), second = multiply_wide(c2, 0xCD9E8D57u);
    c0 = second.high ^ c1 ^ k0;
    c1 = second.low;
    c2 = first.high ^ c3 ^ k1;
    c3 = first.low;
    k0 = k0 + splat<u32>(0x9E3779B9u);
    k1 = k1 + splat<u32>(0xBB67AE85u);
  }
  return {c0, c1, c2, c3};
}

// [0, 1): the largest word gives less than 1.
SPYRE_INLINE f32v uniform(const u32v& word) {
  const i32v number = bitcast<i32>(word);
  const i32v magnitude = number ^ (number >> splat<i32>(31));
  return convert_pack<f32>(magnitude) * splat(4.6566127342e-10f);
}
SPYRE_INLINE f32v philox_rand(const i64v& seed, const i64v& offset) {
  return uniform(philox(seed, offset).w0);
}
SPYRE_INLINE f32v philox_randn(const i64v& seed, const i64v& offset) {
  const PhiloxWords words = philox(seed, offset);
  const f32v radius = sqrt(splat(-2.0f) * log(maximum(uniform(words.w0), splat(1e-7f))));
  return radius * cos(splat(6.283185307179586f) * uniform(words.w1));
}
// Uniform in [low, high).
SPYRE_INLINE i64v philox_randint64(const i64v& seed, const i64v& offset, const i64v& low,
                                   const i64v& high) {
  const PhiloxWords words = philox(seed, offset);
  const u64v number = convert_pack<u64>(words.w0) | (convert_pack<u64>(words.w1) << splat<u64>(32));
  const u64v size = bitcast<u64>(high - low);
  const auto modulo = [](u64 a, u64 b) { return b == 0 ? a : a % b; };
  return bitcast<i64>(each_lane<u64>(modulo, number, size)) + low;
}

SPYRE_INLINE f32 philox_rand(i64 seed, i64 offset) {
  return lane(philox_rand(splat(seed), splat(offset)), 0);
}
SPYRE_INLINE f32 philox_randn(i64 seed, i64 offset) {
  return lane(philox_randn(splat(seed), splat(offset)), 0);
}
SPYRE_INLINE i64 philox_randint64(i64 seed, i64 offset, i64 low, i64 high) {
  return lane(philox_randint64(splat(seed), splat(offset), splat(low), splat(high)), 0);
}

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_RANDOM_H_
