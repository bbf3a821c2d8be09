// Kernels of graph cumulative_sum, written by spyre_inductor. Entry points:
//   spyre_fused_cumsum_0
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"
#include "spyre_kernels/scan.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused_cumsum_0
//   from     aten.cumsum.default  graphs.py:121: return x.cumsum(-1)
//   read     in_ptr0: float32[64, 1000] strides [1000, 1]  arg0_1
//   write    out_ptr0: float32[64, 1000] strides [1000, 1]  buf0
//   parallel x0 < 64
//   reduce   r0 < 1000
//   cores    x0 over 11, grain 1
//   lanes    r0
//   LX tile  x0: 64, r0: 1000 (512000 bytes)
SPYRE_KERNEL(spyre_fused_cumsum_0) {
  const f32* const in_ptr0 = buffer<const f32>(args, 0);
  f32* const out_ptr0 = buffer<f32>(args, 1);

  // Cores: x0, in units of 1.
  const Slice slice = core_slice(64, 1, core, cores);
  for (i64 x0 = slice.begin; x0 < slice.end; ++x0) {

    // Stage 0: sum along r0.
    ScanAcross<Sum, f32> tmp4_scan;
    for_masked_lanes(0, 1000, [&](auto lanes, i64 r0) SPYRE_STEP {
      const f32v tmp0 = load(lanes, in_ptr0 + (r0 + 1000 * x0));
      const f32v tmp4 = tmp4_scan.next(lanes, tmp0);
      store(lanes, out_ptr0 + (r0 + 1000 * x0), tmp4);
    });
  }
}

}  // namespace spyre::kernels
