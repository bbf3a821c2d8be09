// Kernels of graph concatenate_dynamic, written by spyre_inductor. Entry points:
//   spyre_fused_cat_0
//   spyre_fused_cat_1
//   spyre_fused_add_2
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused_cat_0
//   from     aten.cat.default  graphs.py:61: return torch.cat([x, y], 1) + 1
//   read     in_ptr0: float32[ks2, ks0] strides [ks0, 1]  arg2_1
//   write    out_ptr0: float32[ks2, ks0] strides [ks0 + ks1, 1]  buf0
//   scalar   ks0: int64, 100 when compiled
//   scalar   ks1: int64, 28 when compiled
//   scalar   ks2: int64, 64 when compiled
//   parallel x0 < ks2, x1 < ks0
//   cores    x0 * x1 over 1, grain 32
//   lanes    x1
//   LX tile  x0: ks2, x1: ks0 (51200 bytes)
SPYRE_KERNEL(spyre_fused_cat_0) {
  const f32* const in_ptr0 = buffer<const f32>(args, 0);
  f32* const out_ptr0 = buffer<f32>(args, 1);
  const i64 ks0 = args->scalars[0];
  const i64 ks1 = args->scalars[1];
  const i64 ks2 = args->scalars[2];

  // Cores: x0 * x1, in units of 32.
  const Slice slice = core_slice(ks2 * ks0, 32, core, cores);
  for_runs(slice, ks0, [&](Run run) SPYRE_STEP {
    const i64 x0 = run.outer;
    for_lanes(run.begin, run.end, [&](auto lanes, i64 x1) SPYRE_STEP {
      const f32v tmp0 = load(lanes, in_ptr0 + (x1 + ks0 * x0));
      store(lanes, out_ptr0 + (x1 + ks0 * x0 + ks1 * x0), tmp0);
    });
  });
}

// Kernel spyre_fused_cat_1
//   from     aten.cat.default  graphs.py:61: return torch.cat([x, y], 1) + 1
//   read     in_ptr0: float32[ks2, ks0] strides [ks0, 1]  arg4_1
//   write    out_ptr0: float32[ks2, ks0] strides [ks0 + ks1, 1]  buf1
//   scalar   ks0: int64, 28 when compiled
//   scalar   ks1: int64, 100 when compiled
//   scalar   ks2: int64, 64 when compiled
//   parallel x0 < ks2, x1 < ks0
//   cores    x0 * x1 over 1, grain 32
//   lanes    x1
//   LX tile  x0: ks2, x1: ks0 (14336 bytes)
SPYRE_KERNEL(spyre_fused_cat_1) {
  const f32* const in_ptr0 = buffer<const f32>(args, 0);
  f32* const out_ptr0 = buffer<f32>(args, 1);
  const i64 ks0 = args->scalars[0];
  const i64 ks1 = args->scalars[1];
  const i64 ks2 = args->scalars[2];

  // Cores: x0 * x1, in units of 32.
  const Slice slice = core_slice(ks2 * ks0, 32, core, cores);
  for_runs(slice, ks0, [&](Run run) SPYRE_STEP {
    const i64 x0 = run.outer;
    for_lanes(run.begin, run.end, [&](auto lanes, i64 x1) SPYRE_STEP {
      const f32v tmp0 = load(lanes, in_ptr0 + (x1 + ks0 * x0));
      store(lanes, out_ptr0 + (x1 + ks0 * x0 + ks1 * x0), tmp0);
    });
  });
}

// Kernel spyre_fused_add_2
//   from     aten.add.Tensor  graphs.py:61: return torch.cat([x, y], 1) + 1
//   read     in_ptr0: float32[ks1, ks0 + ks2] strides [ks0 + ks2, 1]  buf2
//   write    out_ptr0: float32[ks1, ks0 + ks2] strides [ks0 + ks2, 1]  buf3
//   scalar   ks0: int64, 100 when compiled
//   scalar   ks1: int64, 64 when compiled
//   scalar   ks2: int64, 28 when compiled
//   parallel x0 < ks0 * ks1 + ks1 * ks2
//   cores    x0 over 2, grain 32
//   lanes    x0
//   LX tile  x0: ks0 * ks1 + ks1 * ks2 (65536 bytes)
SPYRE_KERNEL(spyre_fused_add_2) {
  const f32* const in_ptr0 = buffer<const f32>(args, 0);
  f32* const out_ptr0 = buffer<f32>(args, 1);
  const i64 ks0 = args->scalars[0];
  const i64 ks1 = args->scalars[1];
  const i64 ks2 = args->scalars[2];

  // Cores: x0, in units of 32.
  const Slice slice = core_slice(ks0 * ks1 + ks1 * ks2, 32, core, cores);
  for_lanes(slice.begin, slice.end, [&](auto lanes, i64 x0) SPYRE_STEP {
    const f32v tmp0 = load(lanes, in_ptr0 + x0);
    const f32 tmp1 = 1.0f;
    const f32v tmp2 = tmp0 + splat(tmp1);
    store(lanes, out_ptr0 + x0, tmp2);
  });
}

}  // namespace spyre::kernels
