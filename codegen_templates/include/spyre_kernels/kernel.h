// What every rendered kernel includes.
#ifndef SPYRE_KERNELS_KERNEL_H_
#define SPYRE_KERNELS_KERNEL_H_

#include "spyre/kernel_abi.h"
#include "spyre_kernels/arithmetic.h"
#include "spyre_kernels/loops.h"

// An entry point: runs the slice of virtual core `core` of `cores`.
#define SPYRE_KERNEL(NAME) \
  SPYRE_EXPORT void NAME(const spyre_kernel_args* args, int core, int cores)

#endif  // SPYRE_KERNELS_KERNEL_H_
