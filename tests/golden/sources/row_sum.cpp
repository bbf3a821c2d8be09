// Kernels of graph row_sum, written by spyre_inductor. Entry points:
//   spyre_fused_sum_0
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"
#include "spyre_kernels/reduce.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused_sum_0
//   from     aten.sum.dim_IntList  graphs.py:101: return x.sum(-1)
//   read     in_ptr0: float32[64, 1000] strides [1000, 1]  arg0_1
//   write    out_ptr0: float32[64] strides [1]  buf0
//   parallel x0 < 64
//   reduce   r0 < 1000
//   cores    x0 over 11, grain 1
//   lanes    r0
//   LX tile  x0: 64, r0: 1000 (256256 bytes)
SPYRE_KERNEL(spyre_fused_sum_0) {
  const f32* const in_ptr0 = buffer<const f32>(args, 0);
  f32* const out_ptr0 = buffer<f32>(args, 1);

  // Cores: x0, in units of 1.
  const Slice slice = core_slice(64, 1, core, cores);
  for (i64 x0 = slice.begin; x0 < slice.end; ++x0) {

    // Stage 0: sum along r0.
    Across<Sum, f32> tmp1_acc;
    reduce_lanes(0, 1000, [&](auto lanes, i64 r0, int part) SPYRE_STEP {
      const f32v tmp0 = load(lanes, in_ptr0 + (r0 + 1000 * x0));
      tmp1_acc.add(lanes, part, tmp0);
    });
    const f32 tmp1 = tmp1_acc.result();
    store(out_ptr0 + x0, tmp1);
  }
}

}  // namespace spyre::kernels
