// Kernels of graph where_and_compare, written by spyre_inductor. Entry points:
//   spyre_fused_bitwise_and_gt_neg_where_0
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused_bitwise_and_gt_neg_where_0
//   from     aten.bitwise_and.Tensor, aten.gt.Scalar, aten.neg.default, aten.where.self 
//   graphs.py:41: return torch.where((x > 0) & m, x, -x)
//   read     in_ptr0: float32[64, 1000] strides [1000, 1]  arg0_1
//   read     in_ptr1: bool[64, 1000] strides [1000, 1]  arg1_1
//   write    out_ptr0: float32[64, 1000] strides [1000, 1]  buf0
//   parallel x0 < 64000
//   cores    x0 over 31, grain 128
//   lanes    x0
//   LX tile  x0: 64000 (576000 bytes)
SPYRE_KERNEL(spyre_fused_bitwise_and_gt_neg_where_0) {
  const f32* const in_ptr0 = buffer<const f32>(args, 0);
  const bool8* const in_ptr1 = buffer<const bool8>(args, 1);
  f32* const out_ptr0 = buffer<f32>(args, 2);

  // Cores: x0, in units of 128.
  const Slice slice = core_slice(64000, 128, core, cores);
  for_whole_lanes(slice.begin, slice.end, [&](auto lanes, i64 x0) SPYRE_STEP {
    const f32v tmp0 = load(lanes, in_ptr0 + x0);
    const f32 tmp1 = 0.0f;
    const Mask tmp2 = tmp0 > splat(tmp1);
    const Mask tmp3 = load(lanes, in_ptr1 + x0);
    const Mask tmp4 = tmp2 & tmp3;
    const f32v tmp5 = -tmp0;
    const f32v tmp6 = where(tmp4, tmp0, tmp5);
    store(lanes, out_ptr0 + x0, tmp6);
  });
}

}  // namespace spyre::kernels
