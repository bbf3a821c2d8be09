// Kernels of graph bitcast, written by spyre_inductor. Entry points:
//   spyre_fused_bitwise_and_view_0
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused_bitwise_and_view_0
//   from     aten.bitwise_and.Scalar, aten.view.dtype  graphs.py:57: return x.view(torch.int32) &
//   0x7FFFFFFF
//   read     in_ptr0: float32[64, 1000] strides [1000, 1]  arg0_1
//   write    out_ptr0: int32[64, 1000] strides [1000, 1]  buf0
//   parallel x0 < 64000
//   cores    x0 over 19, grain 32
//   lanes    x0
//   LX tile  x0: 64000 (512000 bytes)
SPYRE_KERNEL(spyre_fused_bitwise_and_view_0) {
  const f32* const in_ptr0 = buffer<const f32>(args, 0);
  i32* const out_ptr0 = buffer<i32>(args, 1);

  // Cores: x0, in units of 32.
  const Slice slice = core_slice(64000, 32, core, cores);
  for_whole_lanes(slice.begin, slice.end, [&](auto lanes, i64 x0) SPYRE_STEP {
    const f32v tmp0 = load(lanes, in_ptr0 + x0);
    const i32v tmp1 = reinterpret<f32, i32>(tmp0);
    const i32 tmp2 = 2147483647;
    const i32v tmp3 = tmp1 & splat(tmp2);
    store(lanes, out_ptr0 + x0, tmp3);
  });
}

}  // namespace spyre::kernels
