// Functions of lanes by glibc's vector library (libmvec, at most 4 ulp), on x86-64: those that
// every glibc since 2.22 has, and where the host's is known to be 2.35 or newer (SPYRE_GLIBC_MINOR,
// from build/toolchain.py) those that came with it. Elsewhere lane by lane (libm.h).
#ifndef SPYRE_KERNELS_LIBMVEC_H_
#define SPYRE_KERNELS_LIBMVEC_H_

#include "spyre_kernels/arithmetic.h"

namespace spyre::kernels {

#if defined(SPYRE_SSE2)
#define SPYRE_LIBMVEC_SINCE_2_22 1
#if defined(SPYRE_GLIBC_MINOR) && SPYRE_GLIBC_MINOR >= 35
#define SPYRE_LIBMVEC_SINCE_2_35 1
#endif

namespace libmvec {

// Mangled names of the machine's register width: `v` or `vv` (operands), then the function.
#if defined(SPYRE_AVX512)
#define SPYRE_OF_DOUBLES(NAME) _ZGVeN8##NAME
#define SPYRE_OF_FLOATS(NAME) _ZGVeN16##NAME
#elif defined(SPYRE_AVX2)
#define SPYRE_OF_DOUBLES(NAME) _ZGVdN4##NAME
#define SPYRE_OF_FLOATS(NAME) _ZGVdN8##NAME
#else
#define SPYRE_OF_DOUBLES(NAME) _ZGVbN2##NAME
#define SPYRE_OF_FLOATS(NAME) _ZGVbN4##NAME
#endif
typedef f64 Doubles __attribute__((vector_size(kRegisterBytes)));
typedef f32 Floats __attribute__((vector_size(kRegisterBytes)));

#define SPYRE_PARTS_1(NAME)                               \
  extern "C" Doubles SPYRE_OF_DOUBLES(v_##NAME)(Doubles); \
  extern "C" Floats SPYRE_OF_FLOATS(v_##NAME##f)(Floats); \
  template <class T, int N>                               \
  SPYRE_INLINE Pack<T, N> NAME(const Pack<T, N>& a) {     \
    if constexpr (N * sizeof(T) > kRegisterBytes) {       \
      return {NAME(a.lo), NAME(a.hi)};                    \
    } else if constexpr (sizeof(T) == 4) {                \
      return {SPYRE_OF_FLOATS(v_##NAME##f)(a.v)};         \
    } else {                                              \
      return {SPYRE_OF_DOUBLES(v_##NAME)(a.v)};           \
    }                                                     \
  }
#define SPYRE_PARTS_2(NAME)                                                \
  extern "C" Doubles SPYRE_OF_DOUBLES(vv_##NAME)(Doubles, Doubles);        \
  extern "C" Floats SPYRE_OF_FLOATS(vv_##NAME##f)(Floats, Floats);         \
  template <class T, int N>                                                \
  SPYRE_INLINE Pack<T, N> NAME(const Pack<T, N>& a, const Pack<T, N>& b) { \
    if constexpr (N * sizeof(T) > kRegisterBytes) {                        \
      return {NAME(a.lo, b.lo), NAME(a.hi, b.hi)};                         \
    } else if constexpr (sizeof(T) == 4) {                                 \
      return {SPYRE_OF_FLOATS(vv_##NAME##f)(a.v, b.v)};                    \
    } else {                                                               \
      return {SPYRE_OF_DOUBLES(vv_##NAME)(a.v, b.v)};                      \
    }                                                                      \
  }
SPYRE_PARTS_1(exp)
SPYRE_PARTS_1(log)
SPYRE_PARTS_1(sin)
SPYRE_PARTS_1(cos)
SPYRE_PARTS_2(pow)
#if defined(SPYRE_LIBMVEC_SINCE_2_35)
SPYRE_PARTS_1(exp2)
SPYRE_PARTS_1(expm1)
SPYRE_PARTS_1(log2)
SPYRE_PARTS_1(log10)
SPYRE_PARTS_1(log1p)
SPYRE_PARTS_1(tanh)
SPYRE_PARTS_1(erf)
SPYRE_PARTS_1(erfc)
SPYRE_PARTS_1(tan)
SPYRE_PARTS_1(sinh)
SPYRE_PARTS_1(cosh)
SPYRE_PARTS_1(asin)
SPYRE_PARTS_1(acos)
SPYRE_PARTS_1(atan)
SPYRE_PARTS_1(asinh)
SPYRE_PARTS_1(acosh)
SPYRE_PARTS_1(atanh)
SPYRE_PARTS_2(atan2)
SPYRE_PARTS_2(hypot)
#endif
#undef SPYRE_PARTS_1
#undef SPYRE_PARTS_2
#undef SPYRE_OF_DOUBLES
#undef SPYRE_OF_FLOATS

}  // namespace libmvec
#endif

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_LIBMVEC_H_
