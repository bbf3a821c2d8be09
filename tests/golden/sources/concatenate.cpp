// Kernels of graph concatenate, written by spyre_inductor. Entry points:
//   spyre_fused_cat_0
//   spyre_fused_cat_1
//   spyre_fused_add_2
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused_cat_0
//   from     aten.cat.default  graphs.py:61: return torch.cat([x, y], 1) + 1
//   read     in_ptr0: float32[64, 100] strides [100, 1]  arg0_1
//   write    out_ptr0: float32[64, 100] strides [128, 1]  buf0
//   parallel x0 < 64, x1 < 100
//   cores    x0 * x1 over 1, grain 32
//   lanes    x1
//   LX tile  x0: 64, x1: 100 (51200 bytes)
SPYRE_KERNEL(spyre_fused_cat_0) {
  const f32* const in_ptr0 = buffer<const f32>(args, 0);
  f32* const out_ptr0 = buffer<f32>(args, 1);

  // Cores: x0 * x1, in units of 32.
  const Slice slice = core_slice(6400, 32, core, cores);
  for_runs(slice, 100, [&](Run run) SPYRE_STEP {
    const i64 x0 = run.outer;
    for_lanes(run.begin, run.end, [&](auto lanes, i64 x1) SPYRE_STEP {
      const f32v tmp0 = load(lanes, in_ptr0 + (x1 + 100 * x0));
      store(lanes, out_ptr0 + (x1 + 128 * x0), tmp0);
    });
  });
}

// Kernel spyre_fused_cat_1
//   from     aten.cat.default  graphs.py:61: return torch.cat([x, y], 1) + 1
//   read     in_ptr0: float32[64, 28] strides [28, 1]  arg1_1
//   write    out_ptr0: float32[64, 28] strides [128, 1]  buf1
//   parallel x0 < 64, x1 < 28
//   cores    x0 * x1 over 1, grain 32
//   lanes    x1
//   LX tile  x0: 64, x1: 28 (14336 bytes)
SPYRE_KERNEL(spyre_fused_cat_1) {
  const f32* const in_ptr0 = buffer<const f32>(args, 0);
  f32* const out_ptr0 = buffer<f32>(args, 1);

  // Cores: x0 * x1, in units of 32.
  const Slice slice = core_slice(1792, 32, core, cores);
  for_runs(slice, 28, [&](Run run) SPYRE_STEP {
    const i64 x0 = run.outer;
    for_lanes(run.begin, run.end, [&](auto lanes, i64 x1) SPYRE_STEP {
      const f32v tmp0 = load(lanes, in_ptr0 + (x1 + 28 * x0));
      store(lanes, out_ptr0 + (x1 + 128 * x0), tmp0);
    });
  });
}

// Kernel spyre_fused_add_2
//   from     aten.add.Tensor  graphs.py:61: return torch.cat([x, y], 1) + 1
//   read     in_ptr0: float32[64, 128] strides [128, 1]  buf2
//   write    out_ptr0: float32[64, 128] strides [128, 1]  buf3
//   parallel x0 < 8192
//   cores    x0 over 2, grain 32
//   lanes    x0
//   LX tile  x0: 8192 (65536 bytes)
SPYRE_KERNEL(spyre_fused_add_2) {
  const f32* const in_ptr0 = buffer<const f32>(args, 0);
  f32* const out_ptr0 = buffer<f32>(args, 1);

  // Cores: x0, in units of 32.
  const Slice slice = core_slice(8192, 32, core, cores);
  for_whole_lanes(slice.begin, slice.end, [&](auto lanes, i64 x0) SPYRE_STEP {
    const f32v tmp0 = load(lanes, in_ptr0 + x0);
    const f32 tmp1 = 1.0f;
    const f32v tmp2 = tmp0 + splat(tmp1);
    store(lanes, out_ptr0 + x0, tmp2);
  });
}

}  // namespace spyre::kernels
