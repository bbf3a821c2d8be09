// Kernels of graph column_softmax, written by spyre_inductor. Entry points:
//   spyre_fused__softmax_0
//   spyre_fused__softmax_1
//   spyre_fused__softmax_2
//   spyre_fused__softmax_3
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"
#include "spyre_kernels/cascade.h"
#include "spyre_kernels/exponential.h"
#include "spyre_kernels/reduce.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused__softmax_0
//   from     aten.amax.default  graphs.py:89: return F.softmax(x, 0)
//   read     in_ptr0: float32[40, 200] strides [200, 1]  arg0_1
//   write    out_ptr0: float32[1, 200] strides [200, 1]  buf0
//   parallel x0 < 200
//   reduce   r0 < 40
//   cores    x0 over 1, grain 64
//   lanes    x0
//   LX tile  x0: 200, r0: 40 (32896 bytes)
SPYRE_KERNEL(spyre_fused__softmax_0) {
  const f32* const in_ptr0 = buffer<const f32>(args, 0);
  f32* const out_ptr0 = buffer<f32>(args, 1);

  // Cores: x0, in units of 64.
  const Slice slice = core_slice(200, 64, core, cores);
  for_columns(slice.begin, slice.end, [&](i64 first, i64 last) SPYRE_STEP {
    // Stage 0: max along r0, results of the tile in LX.
    Along<Maximum, f32v> tmp1_accs[kColumnTile / kLanes];
    for (i64 r0_from = 0; r0_from < 40; r0_from += kRowGroup) {
      const i64 r0_to = least(r0_from + kRowGroup, 40);
      for_lanes(first, last, [&](auto lanes, i64 x0) SPYRE_STEP {
        auto tmp1_acc = tmp1_accs[(x0 - first) / kLanes];
        for (i64 r0 = r0_from; r0 < r0_to; ++r0) {
          const f32v tmp0 = load(lanes, in_ptr0 + (x0 + 200 * r0));
          tmp1_acc.add(tmp0);
        }
        tmp1_accs[(x0 - first) / kLanes] = tmp1_acc;
      });
    }
    for_lanes(first, last, [&](auto lanes, i64 x0) SPYRE_STEP {
      const auto tmp1_acc = tmp1_accs[(x0 - first) / kLanes];
      const f32v tmp1 = tmp1_acc.result();
      store(lanes, out_ptr0 + x0, tmp1);
    });
  });
}

// Kernel spyre_fused__softmax_1
//   from     aten.exp.default, aten.sub.Tensor  graphs.py:89: return F.softmax(x, 0)
//   read     in_ptr0: float32[40, 200] strides [200, 1]  arg0_1
//   read     in_ptr1: float32[1, 200] strides [200, 1]  buf0
//   write    out_ptr0: float32[40, 200] strides [200, 1]  buf1
//   parallel x0 < 40, x1 < 200
//   cores    x0 * x1 over 2, grain 32
//   lanes    x1
//   LX tile  x0: 40, x1: 200 (64896 bytes)
SPYRE_KERNEL(spyre_fused__softmax_1) {
  const f32* const in_ptr0 = buffer<const f32>(args, 0);
  const f32* const in_ptr1 = buffer<const f32>(args, 1);
  f32* const out_ptr0 = buffer<f32>(args, 2);

  // Cores: x0 * x1, in units of 32.
  const Slice slice = core_slice(8000, 32, core, cores);
  for_runs(slice, 200, [&](Run run) SPYRE_STEP {
    const i64 x0 = run.outer;
    for_masked_lanes(run.begin, run.end, [&](auto lanes, i64 x1) SPYRE_STEP {
      const f32v tmp0 = load(lanes, in_ptr0 + (x1 + 200 * x0));
      const f32v tmp1 = load(lanes, in_ptr1 + x1);
      const f32v tmp2 = tmp0 - tmp1;
      const f32v tmp3 = exp(tmp2);
      store(lanes, out_ptr0 + (x1 + 200 * x0), tmp3);
    });
  });
}

// Kernel spyre_fused__softmax_2
//   from     aten.sum.dim_IntList  graphs.py:89: return F.softmax(x, 0)
//   read     in_ptr0: float32[40, 200] strides [200, 1]  buf1
//   write    out_ptr0: float32[1, 200] strides [200, 1]  buf2
//   parallel x0 < 200
//   reduce   r0 < 40
//   cores    x0 over 1, grain 64
//   lanes    x0
//   LX tile  x0: 200, r0: 40 (32896 bytes)
SPYRE_KERNEL(spyre_fused__softmax_2) {
  const f32* const in_ptr0 = buffer<const f32>(args, 0);
  f32* const out_ptr0 = buffer<f32>(args, 1);

  // Cores: x0, in units of 64.
  const Slice slice = core_slice(200, 64, core, cores);
  for_columns(slice.begin, slice.end, [&](i64 first, i64 last) SPYRE_STEP {
    // Stage 0: sum along r0, results of the tile in LX.
    ColumnSums<f32v, 2> tmp1_accs(last - first);
    for (i64 r0_from = 0; r0_from < 40; r0_from += kRowGroup) {
      const i64 r0_to = least(r0_from + kRowGroup, 40);
      for_lanes(first, last, [&](auto lanes, i64 x0) SPYRE_STEP {
        auto tmp1_acc = tmp1_accs.open((x0 - first) / kLanes);
        for (i64 r0 = r0_from; r0 < r0_to; ++r0) {
          const f32v tmp0 = load(lanes, in_ptr0 + (x0 + 200 * r0));
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

// Kernel spyre_fused__softmax_3
//   from     aten.div.Tensor  graphs.py:89: return F.softmax(x, 0)
//   readwrite in_out_ptr0: float32[40, 200] strides [200, 1]  buf1 = buf3
//   read     in_ptr0: float32[1, 200] strides [200, 1]  buf2
//   parallel x0 < 40, x1 < 200
//   cores    x0 * x1 over 1, grain 32
//   lanes    x1
//   LX tile  x0: 40, x1: 200 (64896 bytes)
SPYRE_KERNEL(spyre_fused__softmax_3) {
  f32* const in_out_ptr0 = buffer<f32>(args, 0);
  const f32* const in_ptr0 = buffer<const f32>(args, 1);

  // Cores: x0 * x1, in units of 32.
  const Slice slice = core_slice(8000, 32, core, cores);
  for_runs(slice, 200, [&](Run run) SPYRE_STEP {
    const i64 x0 = run.outer;
    for_lanes(run.begin, run.end, [&](auto lanes, i64 x1) SPYRE_STEP {
      const f32v tmp0 = load(lanes, in_out_ptr0 + (x1 + 200 * x0));
      const f32v tmp1 = load(lanes, in_ptr0 + x1);
      const f32v tmp2 = tmp0 / tmp1;
      store(lanes, in_out_ptr0 + (x1 + 200 * x0), tmp2);
    });
  });
}

}  // namespace spyre::kernels
