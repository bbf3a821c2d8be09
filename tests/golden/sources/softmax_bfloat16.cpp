// Kernels of graph softmax_bfloat16, written by spyre_inductor. Entry points:
//   spyre_fused__softmax_add_0
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"
#include "spyre_kernels/bfloat16.h"
#include "spyre_kernels/exponential.h"
#include "spyre_kernels/pairs.h"
#include "spyre_kernels/reduce.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused__softmax_add_0
//   from     aten.add.Tensor, aten.amax.default, prims.convert_element_type.default,
//   aten.exp.default, aten.sub.Tensor, aten.sum.dim_IntList, aten.div.Tensor  graphs.py:151: return
//   (x + 1).softmax(-1)
//   read     in_ptr0: bfloat16[64, 1024] strides [1024, 1]  arg0_1
//   write    out_ptr3: bfloat16[64, 1024] strides [1024, 1]  buf3
//   parallel x0 < 64
//   reduce   r0 < 1024
//   cores    x0 over 32, grain 1
//   lanes    r0
//   LX tile  x0: 64, r0: 1024 (266240 bytes, keeps tmp7)
SPYRE_KERNEL(spyre_fused__softmax_add_0) {
  const bf16* const in_ptr0 = buffer<const bf16>(args, 0);
  bf16* const out_ptr3 = buffer<bf16>(args, 1);

  SPYRE_LX(f32, tmp7_lx, 1024);
  // Cores: x0, in units of 1.
  const Slice slice = core_slice(64, 1, core, cores);
  for (i64 x0 = slice.begin; x0 < slice.end; ++x0) {
    const f32 tmp1 = 1.0f;

    // Stage 1: max along r0.
    Across<Maximum, f32> tmp3_acc;
    reduce_paired_lanes<1>(0, 1024, [&](auto lanes, i64 r0, int part) SPYRE_STEP {
      const f32v tmp0 = load(lanes, in_ptr0 + (r0 + 1024 * x0));
      const f32v tmp2 = tmp0 + splat(tmp1);
      tmp3_acc.add(lanes, part, tmp2);
    });
    const f32 tmp3 = tmp3_acc.result();

    // Stage 2: sum along r0.
    Across<Sum, f32> tmp8_acc;
    for_paired_lanes<1>(0, 1024, [&](auto lanes, i64 r0) SPYRE_STEP {
      const f32v tmp4 = load(lanes, in_ptr0 + (r0 + 1024 * x0));
      const f32v tmp5 = tmp4 + splat(tmp1);
      const f32v tmp6 = tmp5 - splat(tmp3);
      const f32v tmp7 = exp(tmp6);
      store(lanes, tmp7_lx + r0, tmp7);
      tmp8_acc.add(lanes, 0, tmp7);
    });
    const f32 tmp8 = tmp8_acc.result();

    // Stage 3: once more along r0.
    for_paired_lanes<1>(0, 1024, [&](auto lanes, i64 r0) SPYRE_STEP {
      const f32v tmp7 = load(lanes, tmp7_lx + r0);
      const f32v tmp9 = share_of(tmp7, tmp8);
      store<0, Nan::kClear>(lanes, out_ptr3 + (r0 + 1024 * x0), tmp9);
    });
  }
}

}  // namespace spyre::kernels
