// Kernels of graph bucketize, written by spyre_inductor. Entry points:
//   spyre_fused_bucketize_0
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"
#include "spyre_kernels/bucketize.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused_bucketize_0
//   from     aten.bucketize.Tensor  graphs.py:77: return torch.bucketize(x, b)
//   read     in_ptr0: float32[1000] strides [1]  arg0_1
//   read     in_ptr1: float32[20] strides [1]  arg1_1
//   write    out_ptr0: int64[1000] strides [1]  buf0
//   parallel x0 < 1000
//   cores    x0 over 1, grain 32
//   lanes    x0
//   LX tile  x0: 1000 (12160 bytes)
SPYRE_KERNEL(spyre_fused_bucketize_0) {
  const f32* const in_ptr0 = buffer<const f32>(args, 0);
  const f32* const in_ptr1 = buffer<const f32>(args, 1);
  i64* const out_ptr0 = buffer<i64>(args, 2);

  // Cores: x0, in units of 32.
  const Slice slice = core_slice(1000, 32, core, cores);
  for_masked_lanes(slice.begin, slice.end, [&](auto lanes, i64 x0) SPYRE_STEP {
    const f32v tmp0 = load(lanes, in_ptr0 + x0);
    const i64 tmp1 = 0;
    const i64v tmp2 = bucketize<i64, false>(tmp0, Boundaries{in_ptr1, 20, 1}, splat(tmp1),
        splat(i64(0)), lanes.bits);
    store(lanes, out_ptr0 + x0, tmp2);
  });
}

}  // namespace spyre::kernels
