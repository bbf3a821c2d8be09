// What every rendered kernel includes.
#ifndef SPYRE_KERNELS_KERNEL_H_
#define SPYRE_KERNELS_KERNEL_H_

#include "spyre/kernel_abi.h"
#include "spyre_kernels/arithmetic.h"
#include "spyre_kernels/loops.h"

#endif  // SPYRE_KERNELS_KERNEL_H_
