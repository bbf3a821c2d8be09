// Kernels of graph padded, written by spyre_inductor. Entry points:
//   spyre_fused_constant_pad_nd_mul_0
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused_constant_pad_nd_mul_0
//   from     aten.constant_pad_nd.default  functional.py:5823: return torch._C._nn.pad(input, pad,
//   mode, value)
//   from     aten.mul.Tensor  graphs.py:65: return F.pad(x, (3, 5)) * 2
//   read     in_ptr0: float32[64, 100] strides [100, 1]  arg0_1
//   write    out_ptr0: float32[64, 108] strides [108, 1]  buf0
//   parallel x0 < 64, x1 < 108
//   cores    x0 * x1 over 5, grain 32
//   lanes    x1
//   LX tile  x0: 64, x1: 108 (55296 bytes)
SPYRE_KERNEL(spyre_fused_constant_pad_nd_mul_0) {
  const f32* const in_ptr0 = buffer<const f32>(args, 0);
  f32* const out_ptr0 = buffer<f32>(args, 1);

  // Cores: x0 * x1, in units of 32.
  const Slice slice = core_slice(6912, 32, core, cores);
  for_runs(slice, 108, [&](Run run) SPYRE_STEP {
    const i64 x0 = run.outer;
    for_lanes(run.begin, run.end, [&](auto lanes, i64 x1) SPYRE_STEP {
      const i64v tmp0 = iota<i64>(-3 + x1, 1);
      const i64 tmp1 = 0;
      const Mask tmp2 = tmp0 >= splat(tmp1);
      const i64 tmp3 = 100;
      const Mask tmp4 = tmp0 < splat(tmp3);
      const Mask tmp5 = tmp2 & tmp4;
      const f32v tmp6 = load(lanes, in_ptr0 + (-3 + x1 + 100 * x0), tmp5);
      const f32 tmp7 = 0.0f;
      const f32v tmp8 = where(tmp5, tmp6, splat(tmp7));
      const f32 tmp9 = 2.0f;
      const f32v tmp10 = tmp8 * splat(tmp9);
      store(lanes, out_ptr0 + (x1 + 108 * x0), tmp10);
    });
  });
}

}  // namespace spyre::kernels
