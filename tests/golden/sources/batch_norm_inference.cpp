// Kernels of graph batch_norm_inference, written by spyre_inductor. Entry points:
//   spyre_fused__native_batch_norm_legit_no_training_0
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused__native_batch_norm_legit_no_training_0
//   from     aten.add.Tensor, aten.mul.Tensor, aten.reciprocal.default, aten.sqrt.default,
//   aten.sub.Tensor, aten.unsqueeze.default  graphs.py:135: return F.batch_norm(x, m, v)
//   read     in_ptr0: float32[2, 16, 14, 14] strides [3136, 196, 14, 1]  arg0_1
//   read     in_ptr1: float32[16] strides [1]  arg1_1
//   read     in_ptr2: float32[16] strides [1]  arg2_1
//   write    out_ptr0: float32[2, 16, 14, 14] strides [3136, 196, 14, 1]  buf0
//   parallel x0 < 2, x1 < 16, x2 < 196
//   cores    x0 * x1 * x2 over 4, grain 32
//   lanes    x2
//   LX tile  x0: 2, x1: 16, x2: 196 (50304 bytes)
SPYRE_KERNEL(spyre_fused__native_batch_norm_legit_no_training_0) {
  const f32* const in_ptr0 = buffer<const f32>(args, 0);
  const f32* const in_ptr1 = buffer<const f32>(args, 1);
  const f32* const in_ptr2 = buffer<const f32>(args, 2);
  f32* const out_ptr0 = buffer<f32>(args, 3);

  // Cores: x0 * x1 * x2, in units of 32.
  const Slice slice = core_slice(6272, 32, core, cores);
  for_runs(slice, 196, [&](Run run) SPYRE_STEP {
    const i64 x1 = run.outer % 16;
    const i64 x0 = run.outer / 16;
    for_lanes(run.begin, run.end, [&](auto lanes, i64 x2) SPYRE_STEP {
      const f32v tmp0 = load(lanes, in_ptr0 + (x2 + 196 * x1 + 3136 * x0));
      const f32 tmp1 = load(in_ptr1 + x1);
      const f32v tmp2 = tmp0 - splat(tmp1);
      const f32 tmp3 = load(in_ptr2 + x1);
      const f32 tmp4 = 1e-05f;
      const f32 tmp5 = tmp3 + tmp4;
      const f32 tmp6 = sqrt(tmp5);
      const f32 tmp7 = reciprocal(tmp6);
      const f32 tmp8 = 1.0f;
      const f32 tmp9 = tmp7 * tmp8;
      const f32v tmp10 = tmp2 * splat(tmp9);
      store(lanes, out_ptr0 + (x2 + 196 * x1 + 3136 * x0), tmp10);
    });
  });
}

}  // namespace spyre::kernels
