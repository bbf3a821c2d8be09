// Kernels of graph softmax_dynamic, written by spyre_inductor. Entry points:
//   spyre_fused__softmax_0
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"
#include "spyre_kernels/cascade.h"
#include "spyre_kernels/exponential.h"
#include "spyre_kernels/reduce.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused__softmax_0
//   from     aten.amax.default, aten.exp.default, aten.sub.Tensor, aten.sum.dim_IntList,
//   aten.div.Tensor  graphs.py:81: return F.softmax(x, -1)
//   readwrite in_out_ptr0: float32[ks1, ks0] strides [ks0, 1]  buf1 = buf3
//   read     in_ptr0: float32[ks1, ks0] strides [ks0, 1]  arg2_1
//   scalar   ks0: int64, 1000 when compiled
//   scalar   ks1: int64, 64 when compiled
//   parallel x0 < ks1
//   reduce   r0 < ks0
//   cores    x0 over 32, grain 1
//   lanes    r0
//   LX tile  x0: ks1, r0: ks0 (512000 bytes)
SPYRE_KERNEL(spyre_fused__softmax_0) {
  f32* const in_out_ptr0 = buffer<f32>(args, 0);
  const f32* const in_ptr0 = buffer<const f32>(args, 1);
  const i64 ks0 = args->scalars[0];
  const i64 ks1 = args->scalars[1];

  // Cores: x0, in units of 1.
  const Slice slice = core_slice(ks1, 1, core, cores);
  for (i64 x0 = slice.begin; x0 < slice.end; ++x0) {

    // Stage 0: max along r0.
    Across<Maximum, f32> tmp1_acc;
    reduce_lanes(0, ks0, [&](auto lanes, i64 r0, int part) SPYRE_STEP {
      const f32v tmp0 = load(lanes, in_ptr0 + (r0 + ks0 * x0));
      tmp1_acc.add(lanes, part, tmp0);
    });
    const f32 tmp1 = tmp1_acc.result();

    // Stage 1: sum along r0.
    LongSumAcross<f32> tmp5_acc;
    for_blocks(0, ks0, kHeavyBlock, [&](i64 r0_from, i64 r0_to) SPYRE_STEP {
      for_masked_lanes(r0_from, r0_to, [&](auto lanes, i64 r0) SPYRE_STEP {
        const f32v tmp2 = load(lanes, in_ptr0 + (r0 + ks0 * x0));
        const f32v tmp3 = tmp2 - splat(tmp1);
        const f32v tmp4 = exp(tmp3);
        store(lanes, in_out_ptr0 + (r0 + ks0 * x0), tmp4);
        tmp5_acc.add(lanes, 0, tmp4);
      });
      tmp5_acc.end_block();
    });
    const f32 tmp5 = tmp5_acc.result();

    // Stage 2: once more along r0.
    for_lanes(0, ks0, [&](auto lanes, i64 r0) SPYRE_STEP {
      const f32v tmp6 = load(lanes, in_out_ptr0 + (r0 + ks0 * x0));
      const f32v tmp7 = tmp6 / splat(tmp5);
      store(lanes, in_out_ptr0 + (r0 + ks0 * x0), tmp7);
    });
  }
}

}  // namespace spyre::kernels
