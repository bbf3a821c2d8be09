// Kernels of graph cumulative_sum_of_all, written by spyre_inductor. Entry points:
//   spyre_fused_cumsum_0_totals
//   spyre_fused_cumsum_0_offsets
//   spyre_fused_cumsum_0_scan
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"
#include "spyre_kernels/cascade.h"
#include "spyre_kernels/scan.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused_cumsum_0_totals
//   from     aten.cumsum.default  graphs.py:147: return x.cumsum(0)
//   read     in_ptr0: float32[262144] strides [1]  arg0_1
//   write    partial_ptr0: float64[8] strides [1]  partial_ptr0
//   parallel s0 < 8
//   reduce   r0 < 32768
//   cores    s0 over 8, grain 1
//   lanes    r0
//   LX tile  r0: 32768 (1625344 bytes)
SPYRE_KERNEL(spyre_fused_cumsum_0_totals) {
  const f32* const in_ptr0 = buffer<const f32>(args, 0);
  f64* const partial_ptr0 = buffer<f64>(args, 1);

  // Cores: s0, in units of 1.
  const Slice slice = core_slice(8, 1, core, cores);
  for (i64 s0 = slice.begin; s0 < slice.end; ++s0) {

    // Stage 0: sum along r0.
    LongSumAcross<f64> total_acc;
    for_blocks(0, 32768, kBlock, [&](i64 r0_from, i64 r0_to) SPYRE_STEP {
      reduce_whole_lanes(r0_from, r0_to, [&](auto lanes, i64 r0, int part) SPYRE_STEP {
        const f32v tmp0 = load(lanes, in_ptr0 + (32768 * s0 + r0));
        const f64v tmp4_wide = convert<f64>(tmp0);
        total_acc.add(lanes, part, tmp4_wide);
      });
      total_acc.end_block();
    });
    const f64 total = total_acc.result();
    store(partial_ptr0 + s0, total);
  }
}

// Kernel spyre_fused_cumsum_0_offsets
//   from     aten.cumsum.default  graphs.py:147: return x.cumsum(0)
//   read     partial_ptr0: float64[8] strides [1]  partial_ptr0
//   write    partial_ptr1: float64[9] strides [1]  partial_ptr1
//   reduce   s0 < 8
//   cores    nothing over 1, grain 1
//   lanes    none: scalar code
//   LX tile  all (1625344 bytes)
SPYRE_KERNEL(spyre_fused_cumsum_0_offsets) {
  const f64* const partial_ptr0 = buffer<const f64>(args, 0);
  f64* const partial_ptr1 = buffer<f64>(args, 1);

  if (core != 0) return;  // One point: nothing to divide.

  // Stage 0: sum along s0.
  ScanAlong<Sum, f64> joined_scan;
  for (i64 s0 = 0; s0 < 8; ++s0) {
    const f64 total = load(partial_ptr0 + s0);
    const f64 joined = joined_scan.next(total);
    store(partial_ptr1 + (s0 + 1), joined);
  }
}

// Kernel spyre_fused_cumsum_0_scan
//   from     aten.cumsum.default  graphs.py:147: return x.cumsum(0)
//   read     in_ptr0: float32[262144] strides [1]  arg0_1
//   write    out_ptr0: float32[262144] strides [1]  buf0
//   read     partial_ptr1: float64[9] strides [1]  partial_ptr1
//   parallel s0 < 8
//   reduce   r0 < 32768
//   cores    s0 over 8, grain 1
//   lanes    r0
//   LX tile  r0: 32768 (1625344 bytes)
SPYRE_KERNEL(spyre_fused_cumsum_0_scan) {
  const f32* const in_ptr0 = buffer<const f32>(args, 0);
  f32* const out_ptr0 = buffer<f32>(args, 1);
  const f64* const partial_ptr1 = buffer<const f64>(args, 2);

  // Cores: s0, in units of 1.
  const Slice slice = core_slice(8, 1, core, cores);
  for (i64 s0 = slice.begin; s0 < slice.end; ++s0) {
    const i64 position = s0;
    const i64 start = 0;
    const bool follows = position > start;
    const f64 earlier = follows ? load(partial_ptr1 + s0) : 0.0;
    const f64 nothing = 0.0;
    const f64 offset = where(follows, earlier, nothing);

    // Stage 1: sum along r0.
    ScanAcross<Sum, f64> tmp4_slice_scan;
    for_whole_lanes(0, 32768, [&](auto lanes, i64 r0) SPYRE_STEP {
      const f32v tmp0 = load(lanes, in_ptr0 + (32768 * s0 + r0));
      const f64v tmp4_wide = convert<f64>(tmp0);
      const f64v tmp4_slice = tmp4_slice_scan.next(lanes, tmp4_wide);
      const f64v tmp4_all = splat(offset) + tmp4_slice;
      const f32v tmp4 = convert<f32>(tmp4_all);
      store(lanes, out_ptr0 + (32768 * s0 + r0), tmp4);
    });
  }
}

}  // namespace spyre::kernels
