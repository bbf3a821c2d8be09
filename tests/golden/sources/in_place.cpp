// Kernels of graph in_place, written by spyre_inductor. Entry points:
//   spyre_fused_add_copy__mul_0
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused_add_copy__mul_0
//   from     aten.add.Tensor, aten.mul.Tensor, aten.copy_.default  graphs.py:143: return
//   x.mul_(2).add_(1)
//   read     in_ptr0: float32[64, 1000] strides [1000, 1]  arg0_1
//   write    out_ptr1: float32[64, 1000] strides [1000, 1]  arg0_1
//   parallel x0 < 64000
//   cores    x0 over 23, grain 32
//   lanes    x0
//   LX tile  x0: 64000 (512000 bytes)
SPYRE_KERNEL(spyre_fused_add_copy__mul_0) {
  const f32* const in_ptr0 = buffer<const f32>(args, 0);
  f32* const out_ptr1 = buffer<f32>(args, 1);

  // Cores: x0, in units of 32.
  const Slice slice = core_slice(64000, 32, core, cores);
  for_whole_lanes(slice.begin, slice.end, [&](auto lanes, i64 x0) SPYRE_STEP {
    const f32v tmp0 = load(lanes, in_ptr0 + x0);
    const f32 tmp1 = 2.0f;
    const f32v tmp2 = tmp0 * splat(tmp1);
    const f32 tmp3 = 1.0f;
    const f32v tmp4 = tmp2 + splat(tmp3);
    store(lanes, out_ptr1 + x0, tmp4);
  });
}

}  // namespace spyre::kernels
