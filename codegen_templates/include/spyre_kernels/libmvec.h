// float64 functions of lanes, and powf, by glibc's vector functions (libmvec, at most 4 ulp): those
// that every glibc since 2.22 has on x86-64. Elsewhere lane by lane.
#ifndef SPYRE_KERNELS_LIBMVEC_H_
#define SPYRE_KERNELS_LIBMVEC_H_

#include "spyre_kernels/arithmetic.h"

namespace spyre::kernels {

#if defined(SPYRE_SSE2)
namespace libmvec {
#define SPYRE_VARIANTS(WIDTH, DOUBLES)                                  \
  typedef f64 Doubles##WIDTH __attribute__((vector_size(DOUBLES * 8))); \
  typedef f32 Floats##WIDTH __attribute__((vector_size(DOUBLES * 8)));
SPYRE_VARIANTS(e, 8)
SPYRE_VARIANTS(d, 4)
SPYRE_VARIANTS(b, 2)
#undef SPYRE_VARIANTS
extern "C" {
#define SPYRE_PROTOTYPE(NAME)         \
  Doublese _ZGVeN8v_##NAME(Doublese); \
  Doublesd _ZGVdN4v_##NAME(Doublesd); \
  Doublesb _ZGVbN2v_##NAME(Doublesb);
SPYRE_PROTOTYPE(exp)
SPYRE_PROTOTYPE(log)
SPYRE_PROTOTYPE(sin)
SPYRE_PROTOTYPE(cos)
#undef SPYRE_PROTOTYPE
Doublese _ZGVeN8vv_pow(Doublese, Doublese);
Doublesd _ZGVdN4vv_pow(Doublesd, Doublesd);
Doublesb _ZGVbN2vv_pow(Doublesb, Doublesb);
Floatse _ZGVeN16vv_powf(Floatse, Floatse);
Floatsd _ZGVdN8vv_powf(Floatsd, Floatsd);
Floatsb _ZGVbN4vv_powf(Floatsb, Floatsb);
}
// A name for each register width.
#if defined(SPYRE_AVX512)
#define SPYRE_LIBMVEC(N16, N8, N4, SUFFIX) _ZGVeN##N16##SUFFIX
#elif defined(SPYRE_AVX2)
#define SPYRE_LIBMVEC(N16, N8, N4, SUFFIX) _ZGVdN##N8##SUFFIX
#else
#define SPYRE_LIBMVEC(N16, N8, N4, SUFFIX) _ZGVbN##N4##SUFFIX
#endif
#define SPYRE_PARTS_1(NAME)                           \
  template <class T, int N>                           \
  SPYRE_INLINE Pack<T, N> NAME(const Pack<T, N>& a) { \
    if constexpr (N * sizeof(T) <= kRegisterBytes) {  \
      return {SPYRE_LIBMVEC(8, 4, 2, v_##NAME)(a.v)}; \
    } else {                                          \
      return {NAME(a.lo), NAME(a.hi)};                \
    }                                                 \
  }
SPYRE_PARTS_1(exp)
SPYRE_PARTS_1(log)
SPYRE_PARTS_1(sin)
SPYRE_PARTS_1(cos)
#undef SPYRE_PARTS_1
template <class T, int N>
SPYRE_INLINE Pack<T, N> pow(const Pack<T, N>& a, const Pack<T, N>& b) {
  if constexpr (N * sizeof(T) > kRegisterBytes) {
    return {pow(a.lo, b.lo), pow(a.hi, b.hi)};
  } else if constexpr (sizeof(T) == 4) {
    return {SPYRE_LIBMVEC(16, 8, 4, vv_powf)(a.v, b.v)};
  } else {
    return {SPYRE_LIBMVEC(8, 4, 2, vv_pow)(a.v, b.v)};
  }
}
#undef SPYRE_LIBMVEC
}  // namespace libmvec
#endif

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_LIBMVEC_H_
