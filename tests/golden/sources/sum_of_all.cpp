// Kernels of graph sum_of_all, written by spyre_inductor. Entry points:
//   spyre_fused_sum_0_partial
//   spyre_fused_sum_0_combine
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"
#include "spyre_kernels/cascade.h"
#include "spyre_kernels/reduce.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused_sum_0_partial
//   from     aten.sum.default  graphs.py:109: return x.sum()
//   read     in_ptr0: float32[1024, 512] strides [512, 1]  arg0_1
//   write    partial_ptr0: float32[16] strides [1]  partial_ptr0
//   parallel s0 < 16
//   reduce   r0 < 32768
//   cores    s0 over 16, grain 1
//   lanes    r0
//   LX tile  r0: 32768 (1625344 bytes)
SPYRE_KERNEL(spyre_fused_sum_0_partial) {
  const f32* const in_ptr0 = buffer<const f32>(args, 0);
  f32* const partial_ptr0 = buffer<f32>(args, 1);

  // Cores: s0, in units of 1.
  const Slice slice = core_slice(16, 1, core, cores);
  for (i64 s0 = slice.begin; s0 < slice.end; ++s0) {

    // Stage 0: sum along r0.
    LongSumAcross<f32> tmp1_acc;
    for_blocks(0, 32768, kBlock, [&](i64 r0_from, i64 r0_to) SPYRE_STEP {
      reduce_whole_lanes(r0_from, r0_to, [&](auto lanes, i64 r0, int part) SPYRE_STEP {
        const f32v tmp0 = load(lanes, in_ptr0 + (32768 * s0 + r0));
        tmp1_acc.add(lanes, part, tmp0);
      });
      tmp1_acc.end_block();
    });
    const f32 tmp1 = tmp1_acc.result();
    store(partial_ptr0 + s0, tmp1);
  }
}

// Kernel spyre_fused_sum_0_combine
//   from     aten.sum.default  graphs.py:109: return x.sum()
//   write    out_ptr0: float32[] strides []  buf0
//   read     partial_ptr0: float32[16] strides [1]  partial_ptr0
//   reduce   s0 < 16
//   cores    nothing over 1, grain 1
//   lanes    none: scalar code
//   LX tile  all (1625344 bytes)
SPYRE_KERNEL(spyre_fused_sum_0_combine) {
  f32* const out_ptr0 = buffer<f32>(args, 0);
  const f32* const partial_ptr0 = buffer<const f32>(args, 1);

  if (core != 0) return;  // One point: nothing to divide.

  // Stage 0: sum along s0.
  Along<Sum, f32> tmp1_acc;
  for (i64 s0 = 0; s0 < 16; ++s0) {
    const f32 partial0 = load(partial_ptr0 + s0);
    tmp1_acc.add(partial0);
  }
  const f32 tmp1 = tmp1_acc.result();
  store(out_ptr0, tmp1);
}

}  // namespace spyre::kernels
