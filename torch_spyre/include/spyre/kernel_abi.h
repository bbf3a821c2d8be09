// The binary contract between a compiled kernel and the device that runs it.
//
// Shared by csrc/device (the caller) and by every rendered kernel (the callee). It includes
// nothing, so that a kernel compiles in milliseconds. Any change bumps the version, which enters
// the kernel cache key and is checked when a module is loaded.
#ifndef SPYRE_KERNEL_ABI_H_
#define SPYRE_KERNEL_ABI_H_

#define SPYRE_KERNEL_ABI_VERSION 2

#ifdef __cplusplus
extern "C" {
#endif

// First failed check of a launch. `code` goes 0 -> 1 exactly once (atomic compare-exchange); the
// kernel that wins writes the rest. A kernel never throws: it runs on threads of a team.
typedef struct spyre_kernel_error {
  int code;         // 0: none, 1: index out of bounds, 2: device assertion failed
  int check;        // position in KernelPlan.checks, names the buffer and the axis
  long long value;  // the offending index
  long long lower;  // inclusive
  long long upper;  // exclusive
} spyre_kernel_error;

typedef struct spyre_kernel_args {
  void* const* buffers;       // one address per KernelPlan.buffers, in plan order
  const long long* scalars;   // one per KernelPlan.scalars, in plan order; floats as bits of double
  void* workspace;            // KernelPlan.workspace_bytes, 128-byte aligned, or null
  spyre_kernel_error* error;  // never null
  int first_check;            // position of this kernel's checks among the launch's
  int* finished;              // 0 before the launch; counts the cores that are done with a group's
                              // members, so that the last one runs the group's tail
} spyre_kernel_args;

// Runs the slice of virtual core `core` out of `cores` (1 <= cores <= 32). Calls for different
// cores may run at the same time and in any order; one launch calls each core exactly once.
typedef void (*spyre_kernel_fn)(const spyre_kernel_args* args, int core, int cores);

// Every module exports: const int spyre_kernel_abi_version;
#define SPYRE_KERNEL_ABI_SYMBOL "spyre_kernel_abi_version"

#ifdef __cplusplus
}
#endif
#endif  // SPYRE_KERNEL_ABI_H_
