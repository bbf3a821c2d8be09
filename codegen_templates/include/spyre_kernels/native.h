// Operations that a machine register has and the language has not: fused multiply-add, rounding
// modes, square root, scaling by a power of two. One overload per register width.
#ifndef SPYRE_KERNELS_NATIVE_H_
#define SPYRE_KERNELS_NATIVE_H_

#include "spyre_kernels/vector.h"

namespace spyre::kernels {

// Immediate operands of vroundps / vrndscaleps.
inline constexpr int kNearestEven = 8, kFloor = 9, kCeil = 10, kTruncate = 11;

namespace native {

template <class T, int N>
using R = typename Register<T, N>::type;

#if defined(SPYRE_AVX512)
SPYRE_INLINE R<f32, 16> fma(R<f32, 16> a, R<f32, 16> b, R<f32, 16> c) {
  return __builtin_ia32_vfmaddps512_mask(a, b, c, u16(-1), 4);
}
SPYRE_INLINE R<f64, 8> fma(R<f64, 8> a, R<f64, 8> b, R<f64, 8> c) {
  return __builtin_ia32_vfmaddpd512_mask(a, b, c, u8(-1), 4);
}
template <int kMode>
SPYRE_INLINE R<f32, 16> round(R<f32, 16> a) {
  return __builtin_ia32_rndscaleps_mask(a, kMode, a, u16(-1), 4);
}
template <int kMode>
SPYRE_INLINE R<f64, 8> round(R<f64, 8> a) {
  return __builtin_ia32_rndscalepd_mask(a, kMode, a, u8(-1), 4);
}
SPYRE_INLINE R<f32, 16> sqrt(R<f32, 16> a) {
  return __builtin_ia32_sqrtps512_mask(a, a, u16(-1), 4);
}
SPYRE_INLINE R<f64, 8> sqrt(R<f64, 8> a) { return __builtin_ia32_sqrtpd512_mask(a, a, u8(-1), 4); }
SPYRE_INLINE R<f32, 16> scale(R<f32, 16> a, R<f32, 16> exponent) {
  return __builtin_ia32_scalefps512_mask(a, exponent, a, u16(-1), 4);
}
// The second operand when either is a NaN.
SPYRE_INLINE R<f32, 16> min(R<f32, 16> a, R<f32, 16> b) {
  return __builtin_ia32_minps512_mask(a, b, a, u16(-1), 4);
}
SPYRE_INLINE R<f32, 16> max(R<f32, 16> a, R<f32, 16> b) {
  return __builtin_ia32_maxps512_mask(a, b, a, u16(-1), 4);
}
// A NaN operand wins: lanes where `a` is ordered (7) take the machine's min/max, others keep it.
SPYRE_INLINE R<f32, 16> min_nan(R<f32, 16> a, R<f32, 16> b) {
  return __builtin_ia32_minps512_mask(a, b, a, __builtin_ia32_cmpps512_mask(a, a, 7, u16(-1), 4),
                                      4);
}
SPYRE_INLINE R<f32, 16> max_nan(R<f32, 16> a, R<f32, 16> b) {
  return __builtin_ia32_maxps512_mask(a, b, a, __builtin_ia32_cmpps512_mask(a, a, 7, u16(-1), 4),
                                      4);
}
SPYRE_INLINE R<f64, 8> min_nan(R<f64, 8> a, R<f64, 8> b) {
  return __builtin_ia32_minpd512_mask(a, b, a, __builtin_ia32_cmppd512_mask(a, a, 7, u8(-1), 4), 4);
}
SPYRE_INLINE R<f64, 8> max_nan(R<f64, 8> a, R<f64, 8> b) {
  return __builtin_ia32_maxpd512_mask(a, b, a, __builtin_ia32_cmppd512_mask(a, a, 7, u8(-1), 4), 4);
}
#elif defined(SPYRE_AVX2)
SPYRE_INLINE R<f32, 8> fma(R<f32, 8> a, R<f32, 8> b, R<f32, 8> c) {
  return __builtin_ia32_vfmaddps256(a, b, c);
}
SPYRE_INLINE R<f64, 4> fma(R<f64, 4> a, R<f64, 4> b, R<f64, 4> c) {
  return __builtin_ia32_vfmaddpd256(a, b, c);
}
template <int kMode>
SPYRE_INLINE R<f32, 8> round(R<f32, 8> a) {
  return __builtin_ia32_roundps256(a, kMode);
}
template <int kMode>
SPYRE_INLINE R<f64, 4> round(R<f64, 4> a) {
  return __builtin_ia32_roundpd256(a, kMode);
}
SPYRE_INLINE R<f32, 8> sqrt(R<f32, 8> a) { return __builtin_ia32_sqrtps256(a); }
SPYRE_INLINE R<f64, 4> sqrt(R<f64, 4> a) { return __builtin_ia32_sqrtpd256(a); }
SPYRE_INLINE R<f32, 8> min(R<f32, 8> a, R<f32, 8> b) { return __builtin_ia32_minps256(a, b); }
SPYRE_INLINE R<f32, 8> max(R<f32, 8> a, R<f32, 8> b) { return __builtin_ia32_maxps256(a, b); }
SPYRE_INLINE R<f32, 8> min_nan(R<f32, 8> a, R<f32, 8> b) {
  return __builtin_ia32_blendvps256(min(a, b), a, __builtin_ia32_cmpps256(a, a, 3));
}
SPYRE_INLINE R<f32, 8> max_nan(R<f32, 8> a, R<f32, 8> b) {
  return __builtin_ia32_blendvps256(max(a, b), a, __builtin_ia32_cmpps256(a, a, 3));
}
SPYRE_INLINE R<f64, 4> min_nan(R<f64, 4> a, R<f64, 4> b) {
  return __builtin_ia32_blendvpd256(__builtin_ia32_minpd256(a, b), a,
                                    __builtin_ia32_cmppd256(a, a, 3));
}
SPYRE_INLINE R<f64, 4> max_nan(R<f64, 4> a, R<f64, 4> b) {
  return __builtin_ia32_blendvpd256(__builtin_ia32_maxpd256(a, b), a,
                                    __builtin_ia32_cmppd256(a, a, 3));
}
#else
// Plain C++. Fused where the processor fuses (__FP_FAST_FMAF), else with two roundings.
SPYRE_INLINE R<f32, 4> fma(R<f32, 4> a, R<f32, 4> b, R<f32, 4> c) {
#if defined(__FP_FAST_FMAF)
  for (int i = 0; i < 4; ++i) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return c;
#else
  return a * b + c;
#endif
}
SPYRE_INLINE R<f64, 2> fma(R<f64, 2> a, R<f64, 2> b, R<f64, 2> c) {
#if defined(__FP_FAST_FMA)
  for (int i = 0; i < 2; ++i) c[i] = __builtin_fma(a[i], b[i], c[i]);
  return c;
#else
  return a * b + c;
#endif
}
template <int kMode, class T>
SPYRE_INLINE T round_scalar(T x) {
  if constexpr (kMode == kNearestEven) {
    return T(sizeof(T) == 4 ? __builtin_nearbyintf(f32(x)) : __builtin_nearbyint(x));
  } else if constexpr (kMode == kFloor) {
    return T(sizeof(T) == 4 ? __builtin_floorf(f32(x)) : __builtin_floor(x));
  } else if constexpr (kMode == kCeil) {
    return T(sizeof(T) == 4 ? __builtin_ceilf(f32(x)) : __builtin_ceil(x));
  } else {
    return T(sizeof(T) == 4 ? __builtin_truncf(f32(x)) : __builtin_trunc(x));
  }
}
template <int kMode>
SPYRE_INLINE R<f32, 4> round(R<f32, 4> a) {
  for (int i = 0; i < 4; ++i) a[i] = round_scalar<kMode>(f32(a[i]));
  return a;
}
template <int kMode>
SPYRE_INLINE R<f64, 2> round(R<f64, 2> a) {
  for (int i = 0; i < 2; ++i) a[i] = round_scalar<kMode>(f64(a[i]));
  return a;
}
SPYRE_INLINE R<f32, 4> sqrt(R<f32, 4> a) {
  for (int i = 0; i < 4; ++i) a[i] = __builtin_sqrtf(a[i]);
  return a;
}
SPYRE_INLINE R<f64, 2> sqrt(R<f64, 2> a) {
  for (int i = 0; i < 2; ++i) a[i] = __builtin_sqrt(a[i]);
  return a;
}
SPYRE_INLINE R<f32, 4> min(R<f32, 4> a, R<f32, 4> b) { return a < b ? a : b; }
SPYRE_INLINE R<f32, 4> max(R<f32, 4> a, R<f32, 4> b) { return a > b ? a : b; }
template <class V>
SPYRE_INLINE V keep_nan(V a, V b) {
  const auto nan = a != a;
  return nan ? a : b;
}
SPYRE_INLINE R<f32, 4> min_nan(R<f32, 4> a, R<f32, 4> b) { return keep_nan(a, min(a, b)); }
SPYRE_INLINE R<f32, 4> max_nan(R<f32, 4> a, R<f32, 4> b) { return keep_nan(a, max(a, b)); }
SPYRE_INLINE R<f64, 2> min_nan(R<f64, 2> a, R<f64, 2> b) { return keep_nan(a, a < b ? a : b); }
SPYRE_INLINE R<f64, 2> max_nan(R<f64, 2> a, R<f64, 2> b) { return keep_nan(a, a > b ? a : b); }
#endif

}  // namespace native

#define SPYRE_NATIVE_1(NAME, CALL)                    \
  template <class T, int N>                           \
  SPYRE_INLINE Pack<T, N> NAME(const Pack<T, N>& a) { \
    if constexpr (N * sizeof(T) <= kRegisterBytes) {  \
      return {CALL(a.v)};                             \
    } else {                                          \
      return {NAME(a.lo), NAME(a.hi)};                \
    }                                                 \
  }
#define SPYRE_NATIVE_2(NAME, CALL)                                         \
  template <class T, int N>                                                \
  SPYRE_INLINE Pack<T, N> NAME(const Pack<T, N>& a, const Pack<T, N>& b) { \
    if constexpr (N * sizeof(T) <= kRegisterBytes) {                       \
      return {CALL(a.v, b.v)};                                             \
    } else {                                                               \
      return {NAME(a.lo, b.lo), NAME(a.hi, b.hi)};                         \
    }                                                                      \
  }
SPYRE_NATIVE_1(sqrt, native::sqrt)
SPYRE_NATIVE_1(round_even, native::round<kNearestEven>)
SPYRE_NATIVE_1(round_down, native::round<kFloor>)
SPYRE_NATIVE_1(round_up, native::round<kCeil>)
SPYRE_NATIVE_1(round_to_zero, native::round<kTruncate>)
// The bound where the second operand is beyond it; a NaN passes.
SPYRE_NATIVE_2(at_most, native::min)
SPYRE_NATIVE_2(at_least, native::max)
// A NaN wins.
SPYRE_NATIVE_2(minimum_float, native::min_nan)
SPYRE_NATIVE_2(maximum_float, native::max_nan)
#undef SPYRE_NATIVE_1
#undef SPYRE_NATIVE_2

template <class T, int N>
SPYRE_INLINE Pack<T, N> fma(const Pack<T, N>& a, const Pack<T, N>& b, const Pack<T, N>& c) {
  if constexpr (N * sizeof(T) <= kRegisterBytes) {
    return {native::fma(a.v, b.v, c.v)};
  } else {
    return {fma(a.lo, b.lo, c.lo), fma(a.hi, b.hi, c.hi)};
  }
}

// a * 2^floor(exponent) with one rounding; `exponent` in [-300, 300].
SPYRE_INLINE f32v scale_by_power(const f32v& a, const f32v& exponent) {
#if defined(SPYRE_AVX512)
  return {native::scale(a.v, exponent.v)};
#else
  const i32v n = convert_pack<i32>(round_down(exponent));
  const i32v half = n >> splat<i32>(1), rest = n - half;
  // 2^half * 2^rest: only the last product can round, into the denormals.
  const f32v first = bitcast<f32>((half + splat<i32>(127)) << splat<i32>(23));
  const f32v second = bitcast<f32>((rest + splat<i32>(127)) << splat<i32>(23));
  return a * first * second;
#endif
}

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_NATIVE_H_
