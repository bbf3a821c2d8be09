// Kernels of graph embedding, written by spyre_inductor. Entry points:
//   spyre_fused_embedding_0
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"
#include "spyre_kernels/checks.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused_embedding_0
//   from     aten.embedding.default  graphs.py:69: return F.embedding(i, w)
//   read     in_ptr0: int64[8, 30] strides [30, 1]  arg0_1
//   read     in_ptr1: float32[500, 64] strides [64, 1]  arg1_1
//   write    out_ptr0: float32[8, 30, 64] strides [1920, 64, 1]  buf0
//   parallel x0 < 240, x1 < 64
//   cores    x0 over 3, grain 1
//   lanes    x1
//   LX tile  x0: 240, x1: 64 (63616 bytes)
SPYRE_KERNEL(spyre_fused_embedding_0) {
  const i64* const in_ptr0 = buffer<const i64>(args, 0);
  const f32* const in_ptr1 = buffer<const f32>(args, 1);
  f32* const out_ptr0 = buffer<f32>(args, 2);

  // Cores: x0, in units of 1.
  const Slice slice = core_slice(240, 1, core, cores);
  for (i64 x0 = slice.begin; x0 < slice.end; ++x0) {
    for_whole_lanes(0, 64, [&](auto lanes, i64 x1) SPYRE_STEP {
      const i64 tmp0 = load(in_ptr0 + x0);
      if (!in_bounds(args, tmp0, 0, 500, 0)) return;
      const f32v tmp1 = load(lanes, in_ptr1 + (x1 + 64 * tmp0));
      store(lanes, out_ptr0 + (x1 + 64 * x0), tmp1);
    });
  }
}

}  // namespace spyre::kernels
