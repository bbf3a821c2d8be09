// The float32 elementary functions on scalars: lane 0 of the vector function.
#ifndef SPYRE_KERNELS_SCALAR_MATH_H_
#define SPYRE_KERNELS_SCALAR_MATH_H_

#include "spyre_kernels/elementary.h"

namespace spyre::kernels {

#define SPYRE_SCALAR(NAME) \
  SPYRE_INLINE f32 NAME(f32 x) { return lane(NAME(splat(x)), 0); }
SPYRE_SCALAR(exp)
SPYRE_SCALAR(exp2)
SPYRE_SCALAR(expm1)
SPYRE_SCALAR(sigmoid)
SPYRE_SCALAR(tanh)
SPYRE_SCALAR(log)
SPYRE_SCALAR(log2)
SPYRE_SCALAR(log10)
SPYRE_SCALAR(log1p)
SPYRE_SCALAR(erf)
SPYRE_SCALAR(erfc)
#undef SPYRE_SCALAR

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_SCALAR_MATH_H_
