// What the special functions need of a mathematical library: libm under one name per function.
#ifndef SPYRE_KERNELS_SPECIAL_STD_H_
#define SPYRE_KERNELS_SPECIAL_STD_H_

#include "spyre_kernels/libm.h"

namespace spyre::kernels::special {

#define SPYRE_SPECIAL_1(NAME)                         \
  inline f32 NAME(f32 x) { return libm::NAME##f(x); } \
  inline f64 NAME(f64 x) { return libm::NAME(x); }
SPYRE_SPECIAL_1(exp)
SPYRE_SPECIAL_1(expm1)
SPYRE_SPECIAL_1(log)
SPYRE_SPECIAL_1(log1p)
SPYRE_SPECIAL_1(sin)
SPYRE_SPECIAL_1(cos)
SPYRE_SPECIAL_1(tan)
SPYRE_SPECIAL_1(acos)
SPYRE_SPECIAL_1(erf)
SPYRE_SPECIAL_1(erfc)
SPYRE_SPECIAL_1(lgamma)
#undef SPYRE_SPECIAL_1
inline f32 pow(f32 x, f32 y) { return libm::powf(x, y); }
inline f64 pow(f64 x, f64 y) { return libm::pow(x, y); }
template <Integer I>
inline f64 pow(f64 x, I n) {
  return libm::pow(x, f64(n));
}
template <Integer I>
inline f32 pow(f32 x, I n) {
  return f32(libm::pow(f64(x), f64(n)));
}
inline f32 sqrt(f32 x) { return __builtin_sqrtf(x); }
inline f64 sqrt(f64 x) { return __builtin_sqrt(x); }
inline f32 abs(f32 x) { return __builtin_fabsf(x); }
inline f64 abs(f64 x) { return __builtin_fabs(x); }
inline f32 fabs(f32 x) { return __builtin_fabsf(x); }
inline f64 fabs(f64 x) { return __builtin_fabs(x); }
inline f32 floor(f32 x) { return __builtin_floorf(x); }
inline f64 floor(f64 x) { return __builtin_floor(x); }
inline f32 trunc(f32 x) { return __builtin_truncf(x); }
inline f64 trunc(f64 x) { return __builtin_trunc(x); }
inline f32 copysign(f32 x, f32 y) { return __builtin_copysignf(x, y); }
inline f64 copysign(f64 x, f64 y) { return __builtin_copysign(x, y); }
inline f64 modf(f64 x, f64* whole) {
  *whole = trunc(x);
  return x - *whole;
}
template <class T>
inline bool isinf(T x) {
  return __builtin_isinf(x);
}
template <class T>
inline bool isnan(T x) {
  return x != x;
}
template <class T>
inline bool isfinite(T x) {
  return __builtin_isfinite(x);
}
template <class T>
inline constexpr T kNanOf = T(kNan64);
template <class T>
inline constexpr T kInfOf = T(kInf64);
template <class T>
inline constexpr T kEpsilonOf = sizeof(T) == 4 ? T(0x1p-23) : T(0x1p-52);
template <class T>
inline constexpr T kPi = T(3.14159265358979323846);
template <class T>
inline constexpr T kInverseSqrtPi = T(0.564189583547756286948);

// The order of a polynomial; an order that is no number counts as negative.
template <class T>
inline i64 whole_order(T n) {
  return isfinite(n) ? static_cast<i64>(n) : i64(-1);
}

// Coefficients of a Chebyshev series, highest first.
template <class T>
struct Coefficients {
  const T* values;
  i64 count;
};

// Coefficients from the highest power down; `degree` of them and one.
template <typename T>
inline T polevl(const T x, const T A[], i64 degree) {
  T result = 0;
  for (i64 i = 0; i <= degree; i++) {
    result = result * x + A[i];
  }
  return result;
}

}  // namespace spyre::kernels::special

#endif  // SPYRE_KERNELS_SPECIAL_STD_H_
