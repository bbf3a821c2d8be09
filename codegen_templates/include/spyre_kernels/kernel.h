// What every rendered kernel includes.
#ifndef SPYRE_KERNELS_KERNEL_H_
#define SPYRE_KERNELS_KERNEL_H_

#include "spyre/kernel_abi.h"
#include "spyre_kernels/arithmetic.h"
#include "spyre_kernels/loops.h"

// An entry point: runs the slice of virtual core `core` of `cores`.
#define SPYRE_KERNEL(NAME) \
  SPYRE_EXPORT void NAME(const spyre_kernel_args* args, int core, int cores)

namespace spyre::kernels {

// Runs `member` of a kernel group on its part of the group's arguments.
inline void run_member(spyre_kernel_fn member, const spyre_kernel_args* args, int first_buffer,
                       int first_scalar, int core, int cores) {
  const spyre_kernel_args part = {args->buffers + first_buffer, args->scalars + first_scalar,
                                  nullptr, args->error};
  member(&part, core, cores);
}

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_KERNEL_H_
