// Kernels of graph gelu_bfloat16, written by spyre_inductor. Entry points:
//   spyre_fused_gelu_mul_0
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"
#include "spyre_kernels/bfloat16.h"
#include "spyre_kernels/error_function.h"
#include "spyre_kernels/pairs.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused_gelu_mul_0
//   from     aten.add.Tensor, prims.convert_element_type.default, aten.erf.default, aten.mul.Tensor
//    graphs.py:29: return F.gelu(x) * y
//   read     in_ptr0: bfloat16[64, 1000] strides [1000, 1]  arg0_1
//   read     in_ptr1: bfloat16[64, 1000] strides [1000, 1]  arg1_1
//   write    out_ptr0: bfloat16[64, 1000] strides [1000, 1]  buf0
//   parallel x0 < 64000
//   cores    x0 over 32, grain 64
//   lanes    x0
//   LX tile  x0: 64000 (256000 bytes)
SPYRE_KERNEL(spyre_fused_gelu_mul_0) {
  const bf16* const in_ptr0 = buffer<const bf16>(args, 0);
  const bf16* const in_ptr1 = buffer<const bf16>(args, 1);
  bf16* const out_ptr0 = buffer<bf16>(args, 2);

  // Cores: x0, in units of 64.
  const Slice slice = core_slice(64000, 64, core, cores);
  for_paired_lanes<1>(slice.begin, slice.end, [&](auto lanes, i64 x0) SPYRE_STEP {
    const f32v tmp0 = load(lanes, in_ptr0 + x0);
    const f32 tmp1 = 0.5f;
    const f32v tmp2 = tmp0 * splat(tmp1);
    const f32 tmp3 = 0.7071067811865476f;
    const f32v tmp4 = tmp0 * splat(tmp3);
    const f32v tmp5 = erf(tmp4);
    const f32 tmp6 = 1.0f;
    const f32v tmp7 = tmp5 + splat(tmp6);
    const f32v tmp8 = tmp2 * tmp7;
    const f32v tmp9 = round_clear_bf16(tmp8);
    const f32v tmp10 = load(lanes, in_ptr1 + x0);
    const f32v tmp11 = tmp9 * tmp10;
    store<0, Nan::kClear>(lanes, out_ptr0 + x0, tmp11);
  });
}

}  // namespace spyre::kernels
