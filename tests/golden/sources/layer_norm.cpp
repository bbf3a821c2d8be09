// Kernels of graph layer_norm, written by spyre_inductor. Entry points:
//   spyre_fused_native_layer_norm_0
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"
#include "spyre_kernels/bfloat16.h"
#include "spyre_kernels/reduce.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused_native_layer_norm_0
//   from     prims.convert_element_type.default, aten.var_mean.correction, aten.add.Tensor,
//   aten.mul.Tensor, aten.rsqrt.default, aten.sub.Tensor  graphs.py:93: return F.layer_norm(x,
//   (x.shape[-1],), w, b)
//   read     in_ptr0: bfloat16[64, 1000] strides [1000, 1]  arg0_1
//   read     in_ptr1: bfloat16[1000] strides [1]  arg1_1
//   read     in_ptr2: bfloat16[1000] strides [1]  arg2_1
//   write    out_ptr1: bfloat16[64, 1000] strides [1000, 1]  buf3
//   parallel x0 < 64
//   reduce   r0 < 1000
//   cores    x0 over 32, grain 1
//   lanes    r0
//   LX tile  x0: 64, r0: 1000 (258048 bytes)
SPYRE_KERNEL(spyre_fused_native_layer_norm_0) {
  const bf16* const in_ptr0 = buffer<const bf16>(args, 0);
  const bf16* const in_ptr1 = buffer<const bf16>(args, 1);
  const bf16* const in_ptr2 = buffer<const bf16>(args, 2);
  bf16* const out_ptr1 = buffer<bf16>(args, 3);

  // Cores: x0, in units of 1.
  const Slice slice = core_slice(64, 1, core, cores);
  for (i64 x0 = slice.begin; x0 < slice.end; ++x0) {

    // Stage 0: sum along r0.
    Across<Sum, f32> tmp1_acc;
    reduce_lanes(0, 1000, [&](auto lanes, i64 r0, int part) SPYRE_STEP {
      const f32v tmp0 = load(lanes, in_ptr0 + (r0 + 1000 * x0));
      tmp1_acc.add(lanes, part, tmp0);
    });
    const f32 tmp1 = tmp1_acc.result();
    const f32 tmp2 = 1000.0f;
    const f32 tmp3 = tmp1 / tmp2;

    // Stage 2: sum along r0.
    Across<Sum, f32> tmp7_acc;
    reduce_lanes(0, 1000, [&](auto lanes, i64 r0, int part) SPYRE_STEP {
      const f32v tmp4 = load(lanes, in_ptr0 + (r0 + 1000 * x0));
      const f32v tmp5 = tmp4 - splat(tmp3);
      const f32v tmp6 = tmp5 * tmp5;
      tmp7_acc.add(lanes, part, tmp6);
    });
    const f32 tmp7 = tmp7_acc.result();
    const f32 tmp10 = tmp7 / tmp2;
    const f32 tmp11 = 1e-05f;
    const f32 tmp12 = tmp10 + tmp11;
    const f32 tmp13 = rsqrt(tmp12);

    // Stage 4: once more along r0.
    for_lanes(0, 1000, [&](auto lanes, i64 r0) SPYRE_STEP {
      const f32v tmp8 = load(lanes, in_ptr0 + (r0 + 1000 * x0));
      const f32v tmp9 = tmp8 - splat(tmp3);
      const f32v tmp14 = tmp9 * splat(tmp13);
      const f32v tmp15 = load(lanes, in_ptr1 + r0);
      const f32v tmp16 = tmp14 * tmp15;
      const f32v tmp17 = load(lanes, in_ptr2 + r0);
      const f32v tmp18 = tmp16 + tmp17;
      store(lanes, out_ptr1 + (r0 + 1000 * x0), tmp18);
    });
  }
}

}  // namespace spyre::kernels
