// Kernels of graph column_sum, written by spyre_inductor. Entry points:
//   spyre_fused_sum_0
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"
#include "spyre_kernels/reduce.h"

using namespace spyre::kernels;

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused_sum_0
//   from     aten.sum.dim_IntList  graphs.py:105: return x.sum(0)
//   read     in_ptr0: bfloat16[64, 1000] strides [1000, 1]  arg0_1
//   write    out_ptr0: bfloat16[1000] strides [1]  buf0
//   parallel x0 < 1000
//   reduce   r0 < 64
//   cores    x0 over 11, grain 64
//   lanes    x0
//   LX tile  x0: 1000, r0: 64 (130048 bytes)
SPYRE_KERNEL(spyre_fused_sum_0) {
  const bf16* const in_ptr0 = buffer<const bf16>(args, 0);
  bf16* const out_ptr0 = buffer<bf16>(args, 1);

  // Cores: x0, in units of 64.
  const Slice slice = core_slice(1000, 64, core, cores);
  for_lanes(slice.begin, slice.end, [&](auto lanes, i64 x0) SPYRE_STEP {

    // Stage 0: sum along r0.
    Along<Sum, f32v> tmp1_acc;
    for (i64 r0 = 0; r0 < 64; ++r0) {
      const f32v tmp0 = load(lanes, in_ptr0 + (x0 + 1000 * r0));
      tmp1_acc.add(tmp0);
    }
    const f32v tmp1 = tmp1_acc.result();
    store(lanes, out_ptr0 + x0, tmp1);
  });
}
