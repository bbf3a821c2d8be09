// Kernels of graph dropout, written by spyre_inductor. Entry points:
//   spyre_fused_native_dropout_0
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"
#include "spyre_kernels/random.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused_native_dropout_0
//   from     prims.inductor_lookup_seed.default, prims.inductor_random.default, aten.gt.Scalar,
//   aten.mul.Tensor  graphs.py:139: return F.dropout(x, 0.25)
//   write    in_out_ptr0: float32[64, 1000] strides [1000, 1]  buf1 = buf2
//   read     in_ptr0: int64[1] strides [1]  buf0
//   read     in_ptr1: float32[64, 1000] strides [1000, 1]  arg0_1
//   parallel x0 < 64000
//   cores    x0 over 32, grain 32
//   lanes    x0
//   LX tile  x0: 64000 (512128 bytes)
SPYRE_KERNEL(spyre_fused_native_dropout_0) {
  f32* const in_out_ptr0 = buffer<f32>(args, 0);
  const i64* const in_ptr0 = buffer<const i64>(args, 1);
  const f32* const in_ptr1 = buffer<const f32>(args, 2);

  // Cores: x0, in units of 32.
  const Slice slice = core_slice(64000, 32, core, cores);
  for_whole_lanes(slice.begin, slice.end, [&](auto lanes, i64 x0) SPYRE_STEP {
    const i64 tmp0 = load(in_ptr0);
    const i64v tmp1 = iota<i64>(x0, 1);
    const i32v tmp2 = convert<i32>(tmp1);
    const i64v tmp3 = convert<i64>(tmp2);
    const f32v tmp4 = philox_rand(splat(tmp0), tmp3);
    const f32 tmp5 = 0.25f;
    const Mask tmp6 = tmp4 > splat(tmp5);
    const f32v tmp7 = convert<f32>(tmp6);
    const f32v tmp8 = load(lanes, in_ptr1 + x0);
    const f32v tmp9 = tmp7 * tmp8;
    const f32 tmp10 = 1.3333333333333333f;
    const f32v tmp11 = tmp9 * splat(tmp10);
    store(lanes, in_out_ptr0 + x0, tmp11);
  });
}

}  // namespace spyre::kernels
