// sin, cos, tan in float32: three-part reduction by pi/2, exact enough up to 1e5; lanes beyond that
// go through libm one by one.
//
// Source: N. Juffa's public-domain sinf/cosf/tanf.
#ifndef SPYRE_KERNELS_TRIGONOMETRY_H_
#define SPYRE_KERNELS_TRIGONOMETRY_H_

#include "spyre_kernels/libm.h"
#include "spyre_kernels/polynomial.h"

namespace spyre::kernels {

struct Quadrant {
  f32v r;  // |r| <= pi/4
  i32v number;
};
SPYRE_INLINE Quadrant reduce_by_half_pi(const f32v& x) {
  const f32v n = round_even(x * lanes(0.636619747f));
  f32v r = fma(n, lanes(-1.57079601e+00f), x);
  r = fma(n, lanes(-3.13916473e-07f), r);
  r = fma(n, lanes(-5.39030253e-15f), r);
  return {r, convert_pack<i32>(n)};
}
SPYRE_INLINE f32v sin_core(const f32v& r) {
  const f32v s = r * r;
  const f32v p = polynomial(s, 2.86567956e-6f, -1.98559923e-4f, 8.33338592e-3f, -1.66666672e-1f);
  return fma(p, r * s, r);
}
SPYRE_INLINE f32v cos_core(const f32v& r) {
  return polynomial(r * r, 2.44677067e-5f, -1.38877297e-3f, 4.16666567e-2f, -5.00000000e-1f, 1.0f);
}
#if defined(__FP_FAST_FMAF)
inline constexpr f32 kReducible = 1e5f;
#else
inline constexpr f32 kReducible = 0.785f;  // without fused operations the reduction loses digits
#endif
SPYRE_INLINE Mask is_far(const f32v& x) { return ~(abs(x) < lanes(kReducible)); }

// sin at quadrant number q: odd ones swap sine and cosine, two of four change sign.
SPYRE_INLINE f32v sin_at(const f32v& r, const i32v& q) {
  const Mask odd = to_mask(q & splat<i32>(1));
  const u32v sign = bitcast<u32>(q & splat<i32>(2)) << splat<u32>(30);
  const f32v magnitude = where(odd, cos_core(r), sin_core(r));
  return bitcast<f32>(bitcast<u32>(magnitude) ^ sign);
}
template <class F>
SPYRE_INLINE f32v with_far_lanes(const f32v& x, const f32v& near, F libm_function) {
  const Mask far = is_far(x);
  if (__builtin_expect(!any_lane(far), 1)) return near;
  return where(far, each_lane<f32>(libm_function, x), near);
}
SPYRE_INLINE f32v sin(const f32v& x) {
  const auto [r, q] = reduce_by_half_pi(x);
  const f32v near = where(x == lanes(0.0f), x, sin_at(r, q));
  return with_far_lanes(x, near, [](f32 v) { return libm::sinf(v); });
}
SPYRE_INLINE f32v cos(const f32v& x) {
  const auto [r, q] = reduce_by_half_pi(x);
  return with_far_lanes(x, sin_at(r, q + splat<i32>(1)), [](f32 v) { return libm::cosf(v); });
}
SPYRE_INLINE f32v tan(const f32v& x) {
  const auto [r, q] = reduce_by_half_pi(x);
  const f32v s = r * r;
  const f32v p = polynomial(s, 4.38117981e-3f, 8.94600598e-5f, 1.08341556e-2f, 2.12811474e-2f,
                            5.40602170e-2f, 1.33326918e-1f, 3.33333433e-1f);
  const f32v t = fma(p * s, r, r);
  const Mask odd = to_mask(q & splat<i32>(1));
  const f32v near = where(x == lanes(0.0f), x, where(odd, lanes(-1.0f) / t, t));
  return with_far_lanes(x, near, [](f32 v) { return libm::tanf(v); });
}
SPYRE_INLINE f32 sin(f32 x) { return lane(sin(splat(x)), 0); }
SPYRE_INLINE f32 cos(f32 x) { return lane(cos(splat(x)), 0); }
SPYRE_INLINE f32 tan(f32 x) { return lane(tan(splat(x)), 0); }

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_TRIGONOMETRY_H_
