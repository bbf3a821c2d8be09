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

// Where a member of a kernel group finds its part of the group's arguments.
struct Part {
  int buffer, scalar, check;
};

// Runs `member` of a kernel group on its part of the group's arguments.
inline void run_member(spyre_kernel_fn member, const spyre_kernel_args* args, Part first, int core,
                       int cores) {
  const spyre_kernel_args part = {args->buffers + first.buffer,
                                  args->scalars + first.scalar,
                                  nullptr,
                                  args->error,
                                  args->first_check + first.check,
                                  nullptr};
  member(&part, core, cores);
}

// True for the last of `cores` to come here; it sees what all of them stored.
inline bool last_to_finish(const spyre_kernel_args* args, int cores) {
  return __atomic_add_fetch(args->finished, 1, __ATOMIC_ACQ_REL) == cores;
}

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_KERNEL_H_
