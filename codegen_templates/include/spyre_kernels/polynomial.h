// Horner's rule in lanes.
#ifndef SPYRE_KERNELS_POLYNOMIAL_H_
#define SPYRE_KERNELS_POLYNOMIAL_H_

#include "spyre_kernels/arithmetic.h"

namespace spyre::kernels {

SPYRE_INLINE f32v lanes(f32 x) { return splat<f32>(x); }

// Horner's rule on `sum`; coefficients go from high to low powers.
template <class... C>
SPYRE_INLINE f32v horner(const f32v& x, f32v sum, C... coefficients) {
  ((sum = fma(sum, x, lanes(coefficients))), ...);
  return sum;
}
template <class... C>
SPYRE_INLINE f32v polynomial(const f32v& x, f32 highest, C... rest) {
  return horner(x, lanes(highest), rest...);
}

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_POLYNOMIAL_H_
