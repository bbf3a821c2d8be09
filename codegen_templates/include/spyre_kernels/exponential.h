// exp, exp2, expm1, sigmoid and tanh in float32.
//
// At most 4 ulp, right at inf, NaN, zeros and denormals. A scalar is lane 0 of the lanes, so that a
// value does not depend on where it was computed.
//
// Source: Cody-Waite argument reduction; a table and an own minimax fit; expm1 with the polynomial
// of Cephes (S. Moshier).
#ifndef SPYRE_KERNELS_EXPONENTIAL_H_
#define SPYRE_KERNELS_EXPONENTIAL_H_

#include "spyre_kernels/lookup.h"
#include "spyre_kernels/polynomial.h"

namespace spyre::kernels {

// x = n ln2 + r with |r| <= ln2 / 2.
struct ExpReduction {
  f32v n, r;
};
SPYRE_INLINE ExpReduction reduce_by_ln2(const f32v& x) {
  const f32v n = round_even(x * lanes(1.44269504f));
  const f32v r = fma(n, lanes(-1.42860677e-6f), fma(n, lanes(-6.93145752e-1f), x));
  return {n, r};
}
// (e^r - 1 - r) / r^2
SPYRE_INLINE f32v exp_core(const f32v& r) {
  return polynomial(r, 1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f,
                    1.6666665459e-1f, 5.0000001201e-1f);
}

// 2^(j/16)
inline constexpr Table16 kPowers = {{1.0f, 1.04427373f, 1.09050775f, 1.13878858f, 1.18920708f,
                                     1.24185777f, 1.29683959f, 1.35425556f, 1.41421354f,
                                     1.47682619f, 1.54221082f, 1.61049032f, 1.68179286f,
                                     1.75625217f, 1.8340081f, 1.91520655f}};
// Adding this rounds to sixteenths, and leaves their number in the last bits.
inline constexpr f32 kToSixteenths = 0x1.8p19f;
// e^r 2^n, |r| <= ln2 / 32; `shifted` is n + kToSixteenths.
SPYRE_INLINE f32v exp_near(const f32v& r, const f32v& n, const f32v& shifted) {
  const f32v power = lookup(kPowers, bitcast<i32>(shifted));
  const f32v grown = r * polynomial(r, 0.166669592f, 0.500014663f, 1.0f);
  return scale_by_power(fma(power, grown, power), n);
}
SPYRE_INLINE f32v exp(const f32v& x) {
  const f32v clipped = at_least(lanes(-105.0f), at_most(lanes(89.0f), x));
  const f32v shifted = fma(clipped, lanes(1.44269504f), lanes(kToSixteenths));
  const f32v n = shifted - lanes(kToSixteenths);
  const f32v r = fma(n, lanes(2.12194440e-4f), fma(n, lanes(-0.693359375f), clipped));
  return exp_near(r, n, shifted);
}
SPYRE_INLINE f32v exp2(const f32v& x) {
  const f32v clipped = at_least(lanes(-152.0f), at_most(lanes(129.0f), x));
  const f32v shifted = clipped + lanes(kToSixteenths);
  const f32v n = shifted - lanes(kToSixteenths);
  return exp_near((clipped - n) * lanes(6.93147182e-1f), n, shifted);
}
SPYRE_INLINE f32v expm1(const f32v& x) {
  const f32v clipped = at_least(lanes(-30.0f), at_most(lanes(89.0f), x));
  const auto [n, r] = reduce_by_ln2(clipped);
  const f32v core = fma(exp_core(r), r * r, r);
  // 2 (2^(n-1) core + 2^(n-1) - 1/2): 2^128 would overflow where the result does not.
  const f32v half = scale_by_power(lanes(1.0f), n - lanes(1.0f));
  const f32v result = fma(half, core, half - lanes(0.5f)) * lanes(2.0f);
  return where(n == lanes(0.0f), copysign(core, x), result);
}
SPYRE_INLINE f32v sigmoid(const f32v& x) { return lanes(1.0f) / (lanes(1.0f) + exp(-x)); }
SPYRE_INLINE f32v tanh(const f32v& x) {
  const f32v e = expm1(at_most(lanes(20.0f), abs(x) + abs(x)));
  return copysign(e / (e + lanes(2.0f)), x);
}

#define SPYRE_SCALAR(NAME) \
  SPYRE_INLINE f32 NAME(f32 x) { return lane(NAME(splat(x)), 0); }
SPYRE_SCALAR(exp)
SPYRE_SCALAR(exp2)
SPYRE_SCALAR(expm1)
SPYRE_SCALAR(sigmoid)
SPYRE_SCALAR(tanh)
#undef SPYRE_SCALAR

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_EXPONENTIAL_H_
