// Kernels of graph relu_bias_dynamic, written by spyre_inductor. Entry points:
//   spyre_fused_add_relu_0
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused_add_relu_0
//   from     aten.add.Tensor, aten.relu.default  graphs.py:25: return torch.relu(x + b)
//   read     in_ptr0: float32[ks1, ks0] strides [ks0, 1]  arg2_1
//   read     in_ptr1: float32[ks0] strides [1]  arg3_1
//   write    out_ptr0: float32[ks1, ks0] strides [ks0, 1]  buf0
//   scalar   ks0: int64, 1000 when compiled
//   scalar   ks1: int64, 64 when compiled
//   parallel x0 < ks1, x1 < ks0
//   cores    x0 * x1 over 19, grain 32
//   lanes    x1
//   LX tile  x0: ks1, x1: ks0 (516096 bytes)
SPYRE_KERNEL(spyre_fused_add_relu_0) {
  const f32* const in_ptr0 = buffer<const f32>(args, 0);
  const f32* const in_ptr1 = buffer<const f32>(args, 1);
  f32* const out_ptr0 = buffer<f32>(args, 2);
  const i64 ks0 = args->scalars[0];
  const i64 ks1 = args->scalars[1];

  // Cores: x0 * x1, in units of 32.
  const Slice slice = core_slice(ks1 * ks0, 32, core, cores);
  for_runs(slice, ks0, [&](Run run) SPYRE_STEP {
    const i64 x0 = run.outer;
    for_lanes(run.begin, run.end, [&](auto lanes, i64 x1) SPYRE_STEP {
      const f32v tmp0 = load(lanes, in_ptr0 + (x1 + ks0 * x0));
      const f32v tmp1 = load(lanes, in_ptr1 + x1);
      const f32v tmp2 = tmp0 + tmp1;
      const f32v tmp3 = relu(tmp2);
      store(lanes, out_ptr0 + (x1 + ks0 * x0), tmp3);
    });
  });
}

}  // namespace spyre::kernels
