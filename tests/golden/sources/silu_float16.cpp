// Kernels of graph silu_float16, written by spyre_inductor. Entry points:
//   spyre_fused_silu_0
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"
#include "spyre_kernels/exponential.h"
#include "spyre_kernels/float16.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused_silu_0
//   from     aten.add.Tensor, prims.convert_element_type.default, aten.div.Tensor,
//   aten.exp.default, aten.neg.default  graphs.py:33: return F.silu(x)
//   read     in_ptr0: float16[64, 1000] strides [1000, 1]  arg0_1
//   write    out_ptr0: float16[64, 1000] strides [1000, 1]  buf0
//   parallel x0 < 64000
//   cores    x0 over 27, grain 64
//   lanes    x0
//   LX tile  x0: 64000 (256000 bytes)
SPYRE_KERNEL(spyre_fused_silu_0) {
  const f16* const in_ptr0 = buffer<const f16>(args, 0);
  f16* const out_ptr0 = buffer<f16>(args, 1);

  // Cores: x0, in units of 64.
  const Slice slice = core_slice(64000, 64, core, cores);
  for_whole_lanes(slice.begin, slice.end, [&](auto lanes, i64 x0) SPYRE_STEP {
    const f32v tmp0 = load(lanes, in_ptr0 + x0);
    const f32v tmp1 = -tmp0;
    const f32v tmp2 = exp(tmp1);
    const f32 tmp3 = 1.0f;
    const f32v tmp4 = tmp2 + splat(tmp3);
    const f32v tmp5 = tmp0 / tmp4;
    store(lanes, out_ptr0 + x0, tmp5);
  });
}

}  // namespace spyre::kernels
