// Kernels of graph column_variance, written by spyre_inductor. Entry points:
//   spyre_fused_var_0
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"
#include "spyre_kernels/cascade.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused_var_0
//   from     aten.var.correction  graphs.py:117: return x.var(0)
//   write    in_out_ptr0: float32[1000] strides [1]  buf0 = buf1 = buf2
//   read     in_ptr0: float32[64, 1000] strides [1000, 1]  arg0_1
//   parallel x0 < 1000
//   reduce   r0 < 64
//   cores    x0 over 4, grain 256
//   lanes    x0
//   LX tile  x0: 1000, r0: 64 (260096 bytes)
SPYRE_KERNEL(spyre_fused_var_0) {
  f32* const in_out_ptr0 = buffer<f32>(args, 0);
  const f32* const in_ptr0 = buffer<const f32>(args, 1);

  // Cores: x0, in units of 256.
  const Slice slice = core_slice(1000, 256, core, cores);
  for_lanes(slice.begin, slice.end, [&](auto lanes, i64 x0) SPYRE_STEP {

    // Stage 0: sum along r0.
    LongSumAlong<f32v> tmp1_acc;
    for (i64 r0 = 0; r0 < 64; ++r0) {
      const f32v tmp0 = load(lanes, in_ptr0 + (x0 + 1000 * r0));
      tmp1_acc.add(tmp0);
    }
    const f32v tmp1 = tmp1_acc.result();
    const f32 tmp3 = 64.0f;
    const f32v tmp4 = tmp1 / splat(tmp3);

    // Stage 2: sum along r0.
    LongSumAlong<f32v> tmp7_acc;
    for (i64 r0 = 0; r0 < 64; ++r0) {
      const f32v tmp2 = load(lanes, in_ptr0 + (x0 + 1000 * r0));
      const f32v tmp5 = tmp2 - tmp4;
      const f32v tmp6 = tmp5 * tmp5;
      tmp7_acc.add(tmp6);
    }
    const f32v tmp7 = tmp7_acc.result();
    const f32 tmp8 = 63.0f;
    const f32v tmp9 = tmp7 / splat(tmp8);
    store(lanes, in_out_ptr0 + x0, tmp9);
  });
}

}  // namespace spyre::kernels
