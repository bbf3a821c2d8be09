// Kernels of graph relu_bias, written by spyre_inductor. Entry points:
//   spyre_fused_add_relu_0
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused_add_relu_0
//   from     aten.add.Tensor, aten.relu.default  graphs.py:25: return torch.relu(x + b)
//   read     in_ptr0: float32[64, 1000] strides [1000, 1]  arg0_1
//   read     in_ptr1: float32[1000] strides [1]  arg1_1
//   write    out_ptr0: float32[64, 1000] strides [1000, 1]  buf0
//   parallel x0 < 64, x1 < 1000
//   cores    x0 * x1 over 19, grain 32
//   lanes    x1
//   LX tile  x0: 64, x1: 1000 (516096 bytes)
SPYRE_KERNEL(spyre_fused_add_relu_0) {
  const f32* const in_ptr0 = buffer<const f32>(args, 0);
  const f32* const in_ptr1 = buffer<const f32>(args, 1);
  f32* const out_ptr0 = buffer<f32>(args, 2);

  // Cores: x0 * x1, in units of 32.
  const Slice slice = core_slice(64000, 32, core, cores);
  for_runs(slice, 1000, [&](Run run) SPYRE_STEP {
    const i64 x0 = run.outer;
    for_lanes(run.begin, run.end, [&](auto lanes, i64 x1) SPYRE_STEP {
      const f32v tmp0 = load(lanes, in_ptr0 + (x1 + 1000 * x0));
      const f32v tmp1 = load(lanes, in_ptr1 + x1);
      const f32v tmp2 = tmp0 + tmp1;
      const f32v tmp3 = relu(tmp2);
      store(lanes, out_ptr0 + (x1 + 1000 * x0), tmp3);
    });
  });
}

}  // namespace spyre::kernels
