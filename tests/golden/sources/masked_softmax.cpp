// Kernels of graph masked_softmax, written by spyre_inductor. Entry points:
//   spyre_fused__softmax_masked_fill_0
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"
#include "spyre_kernels/exponential.h"
#include "spyre_kernels/float16.h"
#include "spyre_kernels/reduce.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused__softmax_masked_fill_0
//   from     aten.amax.default, prims.convert_element_type.default, aten.full.default,
//   aten.where.self, aten.exp.default, aten.sub.Tensor, aten.sum.dim_IntList, aten.div.Tensor 
//   graphs.py:85: return F.softmax(x.masked_fill(m, -1e9), -1)
//   read     in_ptr0: bool[64, 1000] strides [1000, 1]  arg1_1
//   read     in_ptr1: float16[64, 1000] strides [1000, 1]  arg0_1
//   write    out_ptr3: float16[64, 1000] strides [1000, 1]  buf3
//   parallel x0 < 64
//   reduce   r0 < 1000
//   cores    x0 over 32, grain 1
//   lanes    r0
//   LX tile  x0: 64, r0: 1000 (328000 bytes, keeps tmp9, tmp3)
SPYRE_KERNEL(spyre_fused__softmax_masked_fill_0) {
  const bool8* const in_ptr0 = buffer<const bool8>(args, 0);
  const f16* const in_ptr1 = buffer<const f16>(args, 1);
  f16* const out_ptr3 = buffer<f16>(args, 2);

  SPYRE_LX(f32, tmp9_lx, 1000);
  SPYRE_LX(f32, tmp3_lx, 1000);
  // Cores: x0, in units of 1.
  const Slice slice = core_slice(64, 1, core, cores);
  for (i64 x0 = slice.begin; x0 < slice.end; ++x0) {
    const f32 tmp2 = -kInf32;

    // Stage 1: max along r0.
    Across<Maximum, f32> tmp4_acc;
    reduce_lanes(0, 1000, [&](auto lanes, i64 r0, int part) SPYRE_STEP {
      const Mask tmp0 = load(lanes, in_ptr0 + (r0 + 1000 * x0));
      const f32v tmp1 = load(lanes, in_ptr1 + (r0 + 1000 * x0));
      const f32v tmp3 = where(tmp0, splat(tmp2), tmp1);
      store(lanes, tmp3_lx + r0, tmp3);
      tmp4_acc.add(lanes, part, tmp3);
    });
    const f32 tmp4 = tmp4_acc.result();

    // Stage 2: sum along r0.
    Across<Sum, f32> tmp10_acc;
    for_masked_lanes(0, 1000, [&](auto lanes, i64 r0) SPYRE_STEP {
      const f32v tmp3 = load(lanes, tmp3_lx + r0);
      const f32v tmp8 = tmp3 - splat(tmp4);
      const f32v tmp9 = exp(tmp8);
      store(lanes, tmp9_lx + r0, tmp9);
      tmp10_acc.add(lanes, 0, tmp9);
    });
    const f32 tmp10 = tmp10_acc.result();

    // Stage 3: once more along r0.
    for_lanes(0, 1000, [&](auto lanes, i64 r0) SPYRE_STEP {
      const f32v tmp9 = load(lanes, tmp9_lx + r0);
      const f32v tmp11 = share_of(tmp9, tmp10);
      store(lanes, out_ptr3 + (r0 + 1000 * x0), tmp11);
    });
  }
}

}  // namespace spyre::kernels
