// log, log2, log10 and log1p in float32.
//
// At most 4 ulp, right at inf, NaN, zeros and denormals. A scalar is lane 0 of the lanes, so that a
// value does not depend on where it was computed.
//
// Source: the polynomial of Cephes (S. Moshier).
#ifndef SPYRE_KERNELS_LOGARITHM_H_
#define SPYRE_KERNELS_LOGARITHM_H_

#include "spyre_kernels/polynomial.h"

namespace spyre::kernels {

// x = m 2^e with m in [sqrt(1/2), sqrt(2)); `excess` is m - 1.
struct LogReduction {
  f32v exponent, excess;
};
SPYRE_INLINE LogReduction reduce_to_sqrt2(const f32v& x) {
  const Mask tiny = x < lanes(0x1p-126f);
  const f32v scaled = where(tiny, x * lanes(0x1p24f), x);
  const i32v bits = bitcast<i32>(scaled) - splat<i32>(0x3f3504f3);
  const f32v exponent =
      convert_pack<f32>(bits >> splat<i32>(23)) - where(tiny, lanes(24.0f), lanes(0.0f));
  const f32v m = bitcast<f32>((bits & splat<i32>(0x007fffff)) + splat<i32>(0x3f3504f3));
  return {exponent, m - lanes(1.0f)};
}
// log(1 + m) - m for m = excess
SPYRE_INLINE f32v log_core(const f32v& m) {
  const f32v p = polynomial(m, 7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f,
                            -1.2420140846e-1f, 1.4249322787e-1f, -1.6668057665e-1f,
                            2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f);
  const f32v square = m * m;
  return fma(square, lanes(-0.5f), p * m * square);
}
// The limits of every logarithm: log(0) = -inf, log(inf) = inf, NaN below zero.
SPYRE_INLINE f32v log_limits(const f32v& x, const f32v& y) {
  const f32v upper = where(x < lanes(kInf32), y, x + x);
  const f32v zero = where(x == lanes(0.0f), lanes(-kInf32), upper);
  return where(x < lanes(0.0f), lanes(kNan32), zero);
}
SPYRE_INLINE f32v log(const f32v& x) {
  const auto [e, m] = reduce_to_sqrt2(x);
  const f32v low = fma(e, lanes(-2.12194440e-4f), log_core(m));
  return log_limits(x, fma(e, lanes(0.693359375f), m + low));
}
SPYRE_INLINE f32v log2(const f32v& x) {
  const auto [e, m] = reduce_to_sqrt2(x);
  // 1/ln2 = 1.44269502 + 1.925963e-8
  const f32v core = log_core(m);
  const f32v low = fma(core, lanes(1.44269502f), (m + core) * lanes(1.925963033e-8f));
  return log_limits(x, e + fma(m, lanes(1.44269502f), low));
}
SPYRE_INLINE f32v log10(const f32v& x) {
  const auto [e, m] = reduce_to_sqrt2(x);
  const f32v core = log_core(m);
  // log10(2) = 0.30102539 + 4.6050390e-6, 1/ln10 = 0.43429449 - 1.0108e-8
  const f32v low = fma(e, lanes(4.605038981e-6f), core * lanes(0.4342944819f));
  return log_limits(x, fma(e, lanes(0.301025390625f), fma(m, lanes(0.4342944819f), low)));
}
SPYRE_INLINE f32v log1p(const f32v& x) {
  const f32v u = x + lanes(1.0f);
  // What rounding u lost, to first order; below 1/2 and above 2^24 it lost nothing that counts.
  const Mask inexact = (u > lanes(0.5f)) & (u < lanes(0x1p24f));
  const f32v lost = where(inexact, (x - (u - lanes(1.0f))) / u, lanes(0.0f));
  return where(u == lanes(1.0f), x, log(u) + lost);
}

#define SPYRE_SCALAR(NAME) \
  SPYRE_INLINE f32 NAME(f32 x) { return lane(NAME(splat(x)), 0); }
SPYRE_SCALAR(log)
SPYRE_SCALAR(log2)
SPYRE_SCALAR(log10)
SPYRE_SCALAR(log1p)
#undef SPYRE_SCALAR

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_LOGARITHM_H_
