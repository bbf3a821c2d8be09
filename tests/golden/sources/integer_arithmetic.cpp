// Kernels of graph integer_arithmetic, written by spyre_inductor. Entry points:
//   spyre_fused_add_floor_divide_mul_remainder_0
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"
#include "spyre_kernels/integers.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused_add_floor_divide_mul_remainder_0
//   from     aten.add.Tensor, aten.div.Tensor_mode, aten.mul.Tensor, aten.remainder.Scalar 
//   graphs.py:45: return (i // 3) * 5 + i % 7
//   read     in_ptr0: int64[64, 1000] strides [1000, 1]  arg0_1
//   write    out_ptr0: int64[64, 1000] strides [1000, 1]  buf0
//   parallel x0 < 64000
//   cores    x0 over 32, grain 16
//   lanes    x0
//   LX tile  x0: 64000 (1024000 bytes)
SPYRE_KERNEL(spyre_fused_add_floor_divide_mul_remainder_0) {
  const i64* const in_ptr0 = buffer<const i64>(args, 0);
  i64* const out_ptr0 = buffer<i64>(args, 1);

  // Cores: x0, in units of 16.
  const Slice slice = core_slice(64000, 16, core, cores);
  for_whole_lanes(slice.begin, slice.end, [&](auto lanes, i64 x0) SPYRE_STEP {
    const i64v tmp0 = load(lanes, in_ptr0 + x0);
    const i64 tmp1 = 3;
    const i64v tmp2 = floordiv(tmp0, splat(tmp1));
    const i64 tmp3 = 5;
    const i64v tmp4 = tmp2 * splat(tmp3);
    const i64 tmp5 = 7;
    const i64v tmp6 = remainder(tmp0, splat(tmp5));
    const i64v tmp7 = tmp4 + tmp6;
    store(lanes, out_ptr0 + x0, tmp7);
  });
}

}  // namespace spyre::kernels
