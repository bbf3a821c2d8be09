// Kernels of graph float64_math, written by spyre_inductor. Entry points:
//   spyre_fused_add_exp_sin_0
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"
#include "spyre_kernels/libm.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused_add_exp_sin_0
//   from     aten.add.Tensor, aten.exp.default, aten.sin.default  graphs.py:49: return torch.exp(x)
//   + torch.sin(x)
//   read     in_ptr0: float64[64, 1000] strides [1000, 1]  arg0_1
//   write    out_ptr0: float64[64, 1000] strides [1000, 1]  buf0
//   parallel x0 < 64000
//   cores    x0 over 19, grain 16
//   lanes    x0
//   LX tile  x0: 64000 (1024000 bytes)
SPYRE_KERNEL(spyre_fused_add_exp_sin_0) {
  const f64* const in_ptr0 = buffer<const f64>(args, 0);
  f64* const out_ptr0 = buffer<f64>(args, 1);

  // Cores: x0, in units of 16.
  const Slice slice = core_slice(64000, 16, core, cores);
  for_whole_lanes(slice.begin, slice.end, [&](auto lanes, i64 x0) SPYRE_STEP {
    const f64v tmp0 = load(lanes, in_ptr0 + x0);
    const f64v tmp1 = exp(tmp0);
    const f64v tmp2 = sin(tmp0);
    const f64v tmp3 = tmp1 + tmp2;
    store(lanes, out_ptr0 + x0, tmp3);
  });
}

}  // namespace spyre::kernels
