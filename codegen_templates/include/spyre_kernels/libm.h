// The host's mathematical library, by its own prototypes: float64, and the float32 functions that
// are too rare for a vector form of their own. One lane at a time unless libmvec has them.
#ifndef SPYRE_KERNELS_LIBM_H_
#define SPYRE_KERNELS_LIBM_H_

#include "spyre_kernels/integers.h"
#include "spyre_kernels/libmvec.h"

namespace spyre::kernels {

namespace libm {
extern "C" {
#define SPYRE_PROTOTYPE(NAME) \
  f64 NAME(f64) noexcept;     \
  f32 NAME##f(f32) noexcept;
SPYRE_PROTOTYPE(exp)
SPYRE_PROTOTYPE(exp2)
SPYRE_PROTOTYPE(expm1)
SPYRE_PROTOTYPE(log)
SPYRE_PROTOTYPE(log2)
SPYRE_PROTOTYPE(log10)
SPYRE_PROTOTYPE(log1p)
SPYRE_PROTOTYPE(tanh)
SPYRE_PROTOTYPE(erf)
SPYRE_PROTOTYPE(erfc)
SPYRE_PROTOTYPE(sin)
SPYRE_PROTOTYPE(cos)
SPYRE_PROTOTYPE(tan)
SPYRE_PROTOTYPE(sinh)
SPYRE_PROTOTYPE(cosh)
SPYRE_PROTOTYPE(asin)
SPYRE_PROTOTYPE(acos)
SPYRE_PROTOTYPE(atan)
SPYRE_PROTOTYPE(asinh)
SPYRE_PROTOTYPE(acosh)
SPYRE_PROTOTYPE(atanh)
SPYRE_PROTOTYPE(lgamma)
#undef SPYRE_PROTOTYPE
#define SPYRE_PROTOTYPE(NAME)  \
  f64 NAME(f64, f64) noexcept; \
  f32 NAME##f(f32, f32) noexcept;
SPYRE_PROTOTYPE(pow)
SPYRE_PROTOTYPE(atan2)
SPYRE_PROTOTYPE(hypot)
SPYRE_PROTOTYPE(nextafter)
SPYRE_PROTOTYPE(fmod)
#undef SPYRE_PROTOTYPE
f64 ldexp(f64, int) noexcept;
f32 ldexpf(f32, int) noexcept;
f64 frexp(f64, int*) noexcept;
f32 frexpf(f32, int*) noexcept;
}
}  // namespace libm

// The same function of a scalar and of lanes.
#define SPYRE_LANEWISE_1(NAME, T, FUNCTION)                             \
  SPYRE_INLINE T NAME(T x) { return FUNCTION(x); }                      \
  SPYRE_INLINE Vec<T> NAME(const Vec<T>& x) {                           \
    return each_lane<T>([](T v) SPYRE_STEP { return FUNCTION(v); }, x); \
  }
#define SPYRE_LANEWISE_2(NAME, T, FUNCTION)                                        \
  SPYRE_INLINE T NAME(T x, T y) { return FUNCTION(x, y); }                         \
  SPYRE_INLINE Vec<T> NAME(const Vec<T>& x, const Vec<T>& y) {                     \
    return each_lane<T>([](T v, T w) SPYRE_STEP { return FUNCTION(v, w); }, x, y); \
  }
#define SPYRE_BOTH_1(NAME)                   \
  SPYRE_LANEWISE_1(NAME, f32, libm::NAME##f) \
  SPYRE_LANEWISE_1(NAME, f64, libm::NAME)
// Lanes by the vector library.
#define SPYRE_VECTOR_1(NAME, T, FUNCTION)          \
  SPYRE_INLINE T NAME(T x) { return FUNCTION(x); } \
  SPYRE_INLINE Vec<T> NAME(const Vec<T>& x) { return libmvec::NAME(x); }
#define SPYRE_VECTOR_2(NAME, T, FUNCTION)                  \
  SPYRE_INLINE T NAME(T x, T y) { return FUNCTION(x, y); } \
  SPYRE_INLINE Vec<T> NAME(const Vec<T>& x, const Vec<T>& y) { return libmvec::NAME(x, y); }
#if defined(SPYRE_LIBMVEC_SINCE_2_22)
#define SPYRE_OLD_1 SPYRE_VECTOR_1
#else
#define SPYRE_OLD_1 SPYRE_LANEWISE_1
#endif
#if defined(SPYRE_LIBMVEC_SINCE_2_35)
#define SPYRE_NEW_1 SPYRE_VECTOR_1
#define SPYRE_NEW_2 SPYRE_VECTOR_2
#else
#define SPYRE_NEW_1 SPYRE_LANEWISE_1
#define SPYRE_NEW_2 SPYRE_LANEWISE_2
#endif
#define SPYRE_NEW_BOTH_1(NAME)          \
  SPYRE_NEW_1(NAME, f32, libm::NAME##f) \
  SPYRE_NEW_1(NAME, f64, libm::NAME)
#define SPYRE_NEW_BOTH_2(NAME)          \
  SPYRE_NEW_2(NAME, f32, libm::NAME##f) \
  SPYRE_NEW_2(NAME, f64, libm::NAME)
#define SPYRE_BOTH_2(NAME)                   \
  SPYRE_LANEWISE_2(NAME, f32, libm::NAME##f) \
  SPYRE_LANEWISE_2(NAME, f64, libm::NAME)

SPYRE_NEW_BOTH_1(sinh)
SPYRE_NEW_BOTH_1(cosh)
SPYRE_NEW_BOTH_1(asin)
SPYRE_NEW_BOTH_1(acos)
SPYRE_NEW_BOTH_1(atan)
SPYRE_NEW_BOTH_1(asinh)
SPYRE_NEW_BOTH_1(acosh)
SPYRE_NEW_BOTH_1(atanh)
SPYRE_BOTH_1(lgamma)
SPYRE_NEW_BOTH_2(atan2)
SPYRE_NEW_BOTH_2(hypot)
SPYRE_BOTH_2(nextafter)
SPYRE_BOTH_2(fmod)

// float64 of the functions whose float32 has a header of its own.
SPYRE_OLD_1(exp, f64, libm::exp)
SPYRE_OLD_1(log, f64, libm::log)
SPYRE_OLD_1(sin, f64, libm::sin)
SPYRE_OLD_1(cos, f64, libm::cos)
SPYRE_NEW_1(exp2, f64, libm::exp2)
SPYRE_NEW_1(expm1, f64, libm::expm1)
SPYRE_NEW_1(log2, f64, libm::log2)
SPYRE_NEW_1(log10, f64, libm::log10)
SPYRE_NEW_1(log1p, f64, libm::log1p)
SPYRE_NEW_1(tanh, f64, libm::tanh)
SPYRE_NEW_1(erf, f64, libm::erf)
SPYRE_NEW_1(erfc, f64, libm::erfc)
SPYRE_NEW_1(tan, f64, libm::tan)
SPYRE_INLINE f64 sigmoid(f64 x) { return 1.0 / (1.0 + libm::exp(-x)); }
SPYRE_INLINE f64v sigmoid(const f64v& x) { return splat(1.0) / (splat(1.0) + exp(-x)); }

// The remainder has the sign of the divisor.
template <Float T>
SPYRE_INLINE T remainder(T a, T b) {
  const T r = fmod(a, b);
  return r != T(0) && (b < T(0)) != (r < T(0)) ? r + b : r;
}
template <Float T>
SPYRE_INLINE Vec<T> remainder(const Vec<T>& a, const Vec<T>& b) {
  const Vec<T> r = fmod(a, b), zero = splat(T(0));
  return where((r != zero) & ((b < zero) != (r < zero)), r + b, r);
}

SPYRE_INLINE f32 pow(f32 a, f32 b) { return libm::powf(a, b); }
SPYRE_INLINE f64 pow(f64 a, f64 b) { return libm::pow(a, b); }
// Whole powers by squaring; a negative exponent leaves only 1 and -1.
template <Integer T>
SPYRE_INLINE T pow(T base, T exponent) {
  if (exponent < T(0)) {
    if (base == T(1)) return T(1);
    return base == T(-1) ? (exponent % 2 != 0 ? T(-1) : T(1)) : T(0);
  }
  T power = 1;
  for (; exponent > T(0); exponent = T(exponent >> 1)) {
    if (exponent & T(1)) power = T(power * base);
    base = T(base * base);
  }
  return power;
}
template <Integer T>
SPYRE_INLINE Vec<T> pow(const Vec<T>& a, const Vec<T>& b) {
  return each_lane<T>([](T x, T y) SPYRE_STEP { return pow(x, y); }, a, b);
}
template <Float T>
SPYRE_INLINE Vec<T> pow(const Vec<T>& a, const Vec<T>& b) {
#if defined(SPYRE_LIBMVEC_SINCE_2_22)
  return libmvec::pow(a, b);
#else
  return each_lane<T>([](T x, T y) SPYRE_STEP { return pow(x, y); }, a, b);
#endif
}

SPYRE_INLINE f32 ldexp(f32 x, i32 n) { return libm::ldexpf(x, n); }
SPYRE_INLINE f64 ldexp(f64 x, i32 n) { return libm::ldexp(x, n); }
template <Float T>
SPYRE_INLINE Vec<T> ldexp(const Vec<T>& x, const i32v& n) {
  return each_lane<T>([](T v, i32 e) SPYRE_STEP { return ldexp(v, e); }, x, n);
}
SPYRE_INLINE f64 split(f64 x, int* exponent) { return libm::frexp(x, exponent); }
SPYRE_INLINE f32 split(f32 x, int* exponent) { return libm::frexpf(x, exponent); }
template <Float T>
SPYRE_INLINE T frexp_mantissa(T x) {
  int exponent = 0;
  return split(x, &exponent);
}
template <Float T>
SPYRE_INLINE i32 frexp_exponent(T x) {
  int exponent = 0;
  split(x, &exponent);
  // C leaves the exponent of inf and NaN open; glibc gives 0.
  return x - x == T(0) ? exponent : 0;
}
template <Float T>
SPYRE_INLINE Vec<T> frexp_mantissa(const Vec<T>& x) {
  return each_lane<T>([](T v) SPYRE_STEP { return frexp_mantissa(v); }, x);
}
template <Float T>
SPYRE_INLINE i32v frexp_exponent(const Vec<T>& x) {
  return each_lane<i32>([](T v) SPYRE_STEP { return frexp_exponent(v); }, x);
}

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_LIBM_H_
