// Kernels of graph column_sum, written by spyre_inductor. Entry points:
//   spyre_fused_sum_0
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"
#include "spyre_kernels/bfloat16.h"
#include "spyre_kernels/cascade.h"
#include "spyre_kernels/reduce.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused_sum_0
//   from     aten.sum.dim_IntList  graphs.py:105: return x.sum(0)
//   read     in_ptr0: bfloat16[64, 1000] strides [1000, 1]  arg0_1
//   write    out_ptr0: bfloat16[1000] strides [1]  buf0
//   parallel x0 < 1000
//   reduce   r0 < 64
//   cores    x0 over 4, grain 256
//   lanes    x0
//   LX tile  x0: 1000, r0: 64 (130048 bytes)
SPYRE_KERNEL(spyre_fused_sum_0) {
  const bf16* const in_ptr0 = buffer<const bf16>(args, 0);
  bf16* const out_ptr0 = buffer<bf16>(args, 1);

  // Cores: x0, in units of 256.
  const Slice slice = core_slice(1000, 256, core, cores);
  for_columns(slice.begin, slice.end, [&](i64 first, i64 last) SPYRE_STEP {
    // Stage 0: sum along r0, results of the tile in LX.
    ColumnSums<f32v, 2> tmp1_accs(last - first);
    for (i64 r0_from = 0; r0_from < 64; r0_from += kRowGroup) {
      const i64 r0_to = least(r0_from + kRowGroup, 64);
      for_lanes(first, last, [&](auto lanes, i64 x0) SPYRE_STEP {
        auto tmp1_acc = tmp1_accs.open((x0 - first) / kLanes);
        for (i64 r0 = r0_from; r0 < r0_to; ++r0) {
          const f32v tmp0 = load(lanes, in_ptr0 + (x0 + 1000 * r0));
          tmp1_acc.add(tmp0);
        }
        tmp1_accs.close((x0 - first) / kLanes, tmp1_acc);
      });
      tmp1_accs.end_group();
    }
    for_lanes(first, last, [&](auto lanes, i64 x0) SPYRE_STEP {
      const auto tmp1_acc = tmp1_accs.total((x0 - first) / kLanes);
      const f32v tmp1 = tmp1_acc.result();
      store(lanes, out_ptr0 + x0, tmp1);
    });
  });
}

}  // namespace spyre::kernels
