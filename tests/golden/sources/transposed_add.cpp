// Kernels of graph transposed_add, written by spyre_inductor. Entry points:
//   spyre_fused_add_t_0
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"
#include "spyre_kernels/transpose.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused_add_t_0
//   from     aten.add.Tensor, aten.permute.default  graphs.py:37: return x.t() + y
//   read     in_ptr0: float32[64, 48] strides [48, 1]  arg0_1
//   read     in_ptr1: float32[48, 64] strides [64, 1]  arg1_1
//   write    out_ptr0: float32[48, 64] strides [1, 48]  buf0
//   parallel x0 < 64, x1 < 48
//   cores    x0 * x1 over 1, grain 32
//   lanes    x1
//   LX tile  x0: 64, x1: 48 (36864 bytes)
SPYRE_KERNEL(spyre_fused_add_t_0) {
  const f32* const in_ptr0 = buffer<const f32>(args, 0);
  const f32* const in_ptr1 = buffer<const f32>(args, 1);
  f32* const out_ptr0 = buffer<f32>(args, 2);

  // Cores: x0 * x1, in units of 32.
  const Slice slice = core_slice(3072, 32, core, cores);
  for_run_groups(slice, 48, 64, [&](i64 first, i64 last, i64 begin, i64 end) SPYRE_STEP {
    for_whole_lanes(begin, end, [&](auto lanes, i64 x1) SPYRE_STEP {
      const i64 x0 = first;
      alignas(64) f32 tmp1_rows[kRunGroup * kLanes];
      read_across(tmp1_rows, in_ptr1 + (x0 + 64 * x1), 64, lanes.count, last - first);
      for (i64 outer = first; outer < last; ++outer) {
        const i64 x0 = outer;
        const f32v tmp0 = load(lanes, in_ptr0 + (x1 + 48 * x0));
        const f32v tmp1 = load(lanes, tmp1_rows + (outer - first) * kLanes);
        const f32v tmp2 = tmp0 + tmp1;
        store(lanes, out_ptr0 + (x1 + 48 * x0), tmp2);
      }
    });
  });
}

}  // namespace spyre::kernels
