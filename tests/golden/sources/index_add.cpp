// Kernels of graph index_add, written by spyre_inductor. Entry points:
//   spyre_fused_index_put_0
//   spyre_fused_index_put_1
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"
#include "spyre_kernels/atomic.h"
#include "spyre_kernels/checks.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused_index_put_0
//   from     aten.index_put.default  graphs.py:73: return x.index_put((i,), y, accumulate=True)
//   read     in_ptr0: float32[50, 64] strides [64, 1]  arg0_1
//   write    out_ptr0: float32[50, 64] strides [64, 1]  buf0
//   parallel x0 < 3200
//   cores    x0 over 1, grain 32
//   lanes    x0
//   LX tile  x0: 3200 (25600 bytes)
SPYRE_KERNEL(spyre_fused_index_put_0) {
  const f32* const in_ptr0 = buffer<const f32>(args, 0);
  f32* const out_ptr0 = buffer<f32>(args, 1);

  // Cores: x0, in units of 32.
  const Slice slice = core_slice(3200, 32, core, cores);
  for_whole_lanes(slice.begin, slice.end, [&](auto lanes, i64 x0) SPYRE_STEP {
    const f32v tmp0 = load(lanes, in_ptr0 + x0);
    store(lanes, out_ptr0 + x0, tmp0);
  });
}

// Kernel spyre_fused_index_put_1
//   from     aten.index_put.default  graphs.py:73: return x.index_put((i,), y, accumulate=True)
//   read     in_ptr0: int64[30] strides [1]  arg2_1
//   read     in_ptr1: float32[30, 64] strides [64, 1]  arg1_1
//   readwrite out_ptr0: float32[50, 64] strides [64, 1]  buf0
//   parallel x0 < 30, x1 < 64
//   cores    x0 * x1 over 1, grain 32
//   lanes    x1
//   LX tile  x0: 30, x1: 64 (8192 bytes)
SPYRE_KERNEL(spyre_fused_index_put_1) {
  const i64* const in_ptr0 = buffer<const i64>(args, 0);
  const f32* const in_ptr1 = buffer<const f32>(args, 1);
  f32* const out_ptr0 = buffer<f32>(args, 2);

  // Cores: x0 * x1, in units of 32.
  const Slice slice = core_slice(1920, 32, core, cores);
  for_runs(slice, 64, [&](Run run) SPYRE_STEP {
    const i64 x0 = run.outer;
    for_whole_lanes(run.begin, run.end, [&](auto lanes, i64 x1) SPYRE_STEP {
      const i64 tmp0 = load(in_ptr0 + x0);
      const i64 tmp1 = 50;
      const i64 tmp2 = tmp0 + tmp1;
      const i64 tmp3 = 0;
      const bool tmp4 = tmp0 < tmp3;
      const i64 tmp5 = where(tmp4, tmp2, tmp0);
      if (!in_bounds(args, tmp5, 0, 50, 0)) return;
      const f32v tmp6 = load(lanes, in_ptr1 + (x1 + 64 * x0));
      atomic_add(lanes, out_ptr0, [&](i64 k) SPYRE_STEP { return (x1 + k) + 64 * tmp5; }, tmp6);
    });
  });
}

}  // namespace spyre::kernels
