// Kernels of graph rms_norm, written by spyre_inductor. Entry points:
//   spyre_fused_add_mean_mul_pow_rsqrt_0
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"
#include "spyre_kernels/reduce.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused_add_mean_mul_pow_rsqrt_0
//   from     aten.mean.dim, aten.pow.Tensor_Scalar, aten.add.Scalar, aten.mul.Tensor,
//   aten.rsqrt.default  functional.py:3006: return torch.rms_norm(input, normalized_shape, weight,
//   eps)
//   read     in_ptr0: float32[64, 1000] strides [1000, 1]  arg0_1
//   read     in_ptr1: float32[1000] strides [1]  arg1_1
//   write    out_ptr1: float32[64, 1000] strides [1000, 1]  buf1
//   parallel x0 < 64
//   reduce   r0 < 1000
//   cores    x0 over 32, grain 1
//   lanes    r0
//   LX tile  x0: 64, r0: 1000 (516096 bytes)
SPYRE_KERNEL(spyre_fused_add_mean_mul_pow_rsqrt_0) {
  const f32* const in_ptr0 = buffer<const f32>(args, 0);
  const f32* const in_ptr1 = buffer<const f32>(args, 1);
  f32* const out_ptr1 = buffer<f32>(args, 2);

  // Cores: x0, in units of 1.
  const Slice slice = core_slice(64, 1, core, cores);
  for (i64 x0 = slice.begin; x0 < slice.end; ++x0) {

    // Stage 0: sum along r0.
    Across<Sum, f32> tmp2_acc;
    reduce_lanes(0, 1000, [&](auto lanes, i64 r0, int part) SPYRE_STEP {
      const f32v tmp0 = load(lanes, in_ptr0 + (r0 + 1000 * x0));
      const f32v tmp1 = tmp0 * tmp0;
      tmp2_acc.add(lanes, part, tmp1);
    });
    const f32 tmp2 = tmp2_acc.result();
    const f32 tmp4 = 1000.0f;
    const f32 tmp5 = tmp2 / tmp4;
    const f32 tmp6 = 1.1920928955078125e-07f;
    const f32 tmp7 = tmp5 + tmp6;
    const f32 tmp8 = rsqrt(tmp7);

    // Stage 2: once more along r0.
    for_lanes(0, 1000, [&](auto lanes, i64 r0) SPYRE_STEP {
      const f32v tmp3 = load(lanes, in_ptr0 + (r0 + 1000 * x0));
      const f32v tmp9 = tmp3 * splat(tmp8);
      const f32v tmp10 = load(lanes, in_ptr1 + r0);
      const f32v tmp11 = tmp9 * tmp10;
      store(lanes, out_ptr1 + (r0 + 1000 * x0), tmp11);
    });
  }
}

}  // namespace spyre::kernels
