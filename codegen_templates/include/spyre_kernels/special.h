// Special functions, a lane at a time, by PyTorch's own scalar templates: the same results as CPU
// eager. The one header of this folder that includes a library; build/toolchain.py adds its path
// and libstdc++ for modules that use it (about a second to compile, so only those pay).
#ifndef SPYRE_KERNELS_SPECIAL_H_
#define SPYRE_KERNELS_SPECIAL_H_

#include <ATen/native/Math.h>

#include "spyre_kernels/libm.h"

namespace spyre::kernels {

namespace special {

template <class T>
T zeta(T x, T q) {
  return ::zeta<T, false>(x, q);
}
// Orders 0 and 1 have functions of their own, in eager too.
template <class T>
T polygamma(T order, T x) {
  if (order == T(0)) return ::calc_digamma(x);
  return order == T(1) ? ::trigamma(x) : ::calc_polygamma(x, static_cast<int>(order));
}
// Source: the definition through erfc (Abramowitz and Stegun 26.2.29).
template <class T>
T ndtr(T x) {
  return T(0.5) * std::erfc(-x * T(0.70710678118654752440));
}

}  // namespace special

#define SPYRE_SPECIAL_1(NAME, FUNCTION) \
  SPYRE_LANEWISE_1(NAME, f32, FUNCTION) \
  SPYRE_LANEWISE_1(NAME, f64, FUNCTION)
#define SPYRE_SPECIAL_2(NAME, FUNCTION) \
  SPYRE_LANEWISE_2(NAME, f32, FUNCTION) \
  SPYRE_LANEWISE_2(NAME, f64, FUNCTION)

SPYRE_SPECIAL_1(digamma, ::calc_digamma)
SPYRE_SPECIAL_2(zeta, special::zeta)
SPYRE_SPECIAL_2(polygamma, special::polygamma)
SPYRE_SPECIAL_2(igamma, ::calc_igamma)
SPYRE_SPECIAL_2(igammac, ::calc_igammac)
SPYRE_SPECIAL_1(i0, ::calc_i0)
SPYRE_SPECIAL_1(i0e, ::calc_i0e)
SPYRE_SPECIAL_1(i1, ::calc_i1)
SPYRE_SPECIAL_1(i1e, ::calc_i1e)
SPYRE_SPECIAL_1(erfinv, ::calc_erfinv)
SPYRE_SPECIAL_1(ndtri, ::calc_ndtri)
SPYRE_SPECIAL_1(ndtr, special::ndtr)
SPYRE_SPECIAL_1(log_ndtr, ::calc_log_ndtr)
SPYRE_SPECIAL_1(erfcx, ::calc_erfcx)
SPYRE_SPECIAL_1(airy_ai, ::airy_ai_forward)
SPYRE_SPECIAL_1(bessel_j0, ::bessel_j0_forward)
SPYRE_SPECIAL_1(bessel_j1, ::bessel_j1_forward)
SPYRE_SPECIAL_1(bessel_y0, ::bessel_y0_forward)
SPYRE_SPECIAL_1(bessel_y1, ::bessel_y1_forward)
SPYRE_SPECIAL_1(spherical_bessel_j0, ::spherical_bessel_j0_forward)
SPYRE_SPECIAL_1(modified_bessel_i0, ::modified_bessel_i0_forward)
SPYRE_SPECIAL_1(modified_bessel_i1, ::modified_bessel_i1_forward)
SPYRE_SPECIAL_1(modified_bessel_k0, ::modified_bessel_k0_forward)
SPYRE_SPECIAL_1(modified_bessel_k1, ::modified_bessel_k1_forward)
SPYRE_SPECIAL_1(scaled_modified_bessel_k0, ::scaled_modified_bessel_k0_forward)
SPYRE_SPECIAL_1(scaled_modified_bessel_k1, ::scaled_modified_bessel_k1_forward)
SPYRE_SPECIAL_2(chebyshev_polynomial_t, ::chebyshev_polynomial_t_forward)
SPYRE_SPECIAL_2(chebyshev_polynomial_u, ::chebyshev_polynomial_u_forward)
SPYRE_SPECIAL_2(chebyshev_polynomial_v, ::chebyshev_polynomial_v_forward)
SPYRE_SPECIAL_2(chebyshev_polynomial_w, ::chebyshev_polynomial_w_forward)
SPYRE_SPECIAL_2(shifted_chebyshev_polynomial_t, ::shifted_chebyshev_polynomial_t_forward)
SPYRE_SPECIAL_2(shifted_chebyshev_polynomial_u, ::shifted_chebyshev_polynomial_u_forward)
SPYRE_SPECIAL_2(shifted_chebyshev_polynomial_v, ::shifted_chebyshev_polynomial_v_forward)
SPYRE_SPECIAL_2(shifted_chebyshev_polynomial_w, ::shifted_chebyshev_polynomial_w_forward)
SPYRE_SPECIAL_2(hermite_polynomial_h, ::hermite_polynomial_h_forward)
SPYRE_SPECIAL_2(hermite_polynomial_he, ::hermite_polynomial_he_forward)
SPYRE_SPECIAL_2(laguerre_polynomial_l, ::laguerre_polynomial_l_forward)
SPYRE_SPECIAL_2(legendre_polynomial_p, ::legendre_polynomial_p_forward)

#undef SPYRE_SPECIAL_1
#undef SPYRE_SPECIAL_2

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_SPECIAL_H_
