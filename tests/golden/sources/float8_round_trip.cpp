// Kernels of graph float8_round_trip, written by spyre_inductor. Entry points:
//   spyre_fused__to_copy_mul_0
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"
#include "spyre_kernels/float8.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused__to_copy_mul_0
//   from     prims.convert_element_type.default, aten.mul.Tensor  graphs.py:53: return
//   x.to(torch.float8_e4m3fn).to(torch.float32) * 2
//   read     in_ptr0: float32[64, 1000] strides [1000, 1]  arg0_1
//   write    out_ptr0: float32[64, 1000] strides [1000, 1]  buf0
//   parallel x0 < 64000
//   cores    x0 over 19, grain 32
//   lanes    x0
//   LX tile  x0: 64000 (512000 bytes)
SPYRE_KERNEL(spyre_fused__to_copy_mul_0) {
  const f32* const in_ptr0 = buffer<const f32>(args, 0);
  f32* const out_ptr0 = buffer<f32>(args, 1);

  // Cores: x0, in units of 32.
  const Slice slice = core_slice(64000, 32, core, cores);
  for_whole_lanes(slice.begin, slice.end, [&](auto lanes, i64 x0) SPYRE_STEP {
    const f32v tmp0 = load(lanes, in_ptr0 + x0);
    const f32v tmp1 = round_to<f8e4m3fn>(tmp0);
    const f32 tmp2 = 2.0f;
    const f32v tmp3 = tmp1 * splat(tmp2);
    store(lanes, out_ptr0 + x0, tmp3);
  });
}

}  // namespace spyre::kernels
