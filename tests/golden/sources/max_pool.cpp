// Kernels of graph max_pool, written by spyre_inductor. Entry points:
//   spyre_fused_max_pool2d_with_indices_0
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused_max_pool2d_with_indices_0
//   from     prims._low_memory_max_pool_with_offsets.default, <built-in function getitem> 
//   graphs.py:129: return F.max_pool2d(x, 3, 2, 1)
//   read     in_ptr0: float32[2, 3, 32, 32] strides [3072, 1024, 32, 1]  arg0_1
//   write    out_ptr0: float32[2, 3, 16, 16] strides [768, 256, 16, 1]  buf0
//   parallel x0 < 6, x1 < 16, x2 < 16
//   cores    x0 * x1 * x2 over 5, grain 32
//   lanes    x2
//   LX tile  x0: 6, x1: 16, x2: 16 (61440 bytes)
SPYRE_KERNEL(spyre_fused_max_pool2d_with_indices_0) {
  const f32* const in_ptr0 = buffer<const f32>(args, 0);
  f32* const out_ptr0 = buffer<f32>(args, 1);

  // Cores: x0 * x1 * x2, in units of 32.
  const Slice slice = core_slice(1536, 32, core, cores);
  for_runs(slice, 16, [&](Run run) SPYRE_STEP {
    const i64 x1 = run.outer % 16;
    const i64 x0 = run.outer / 16;
    for_whole_lanes(run.begin, run.end, [&](auto lanes, i64 x2) SPYRE_STEP {
      const i64 tmp0 = -1 + 2 * x1;
      const i64 tmp1 = 0;
      const bool tmp2 = tmp0 >= tmp1;
      const i64 tmp3 = 32;
      const bool tmp4 = tmp0 < tmp3;
      const bool tmp5 = tmp2 & tmp4;
      const i64v tmp6 = iota<i64>(-1 + 2 * x2, 2);
      const Mask tmp7 = tmp6 >= splat(tmp1);
      const Mask tmp8 = tmp6 < splat(tmp3);
      const Mask tmp9 = tmp7 & tmp8;
      const Mask tmp10 = splat(tmp5) & tmp9;
      const f32v tmp11 = load_strided(lanes, in_ptr0 + (-33 + 2 * x2 + 64 * x1 + 1024 * x0), 2,
          tmp10);
      const f32 tmp12 = -kInf32;
      const f32v tmp13 = where(tmp10, tmp11, splat(tmp12));
      const i64v tmp14 = iota<i64>(2 * x2, 2);
      const Mask tmp15 = tmp14 >= splat(tmp1);
      const Mask tmp16 = tmp14 < splat(tmp3);
      const Mask tmp17 = tmp15 & tmp16;
      const Mask tmp18 = splat(tmp5) & tmp17;
      const f32v tmp19 = load_strided(lanes, in_ptr0 + (-32 + 2 * x2 + 64 * x1 + 1024 * x0), 2,
          tmp18);
      const f32v tmp20 = where(tmp18, tmp19, splat(tmp12));
      const f32v tmp21 = maximum(tmp13, tmp20);
      const i64v tmp22 = iota<i64>(1 + 2 * x2, 2);
      const Mask tmp23 = tmp22 >= splat(tmp1);
      const Mask tmp24 = tmp22 < splat(tmp3);
      const Mask tmp25 = tmp23 & tmp24;
      const Mask tmp26 = splat(tmp5) & tmp25;
      const f32v tmp27 = load_strided(lanes, in_ptr0 + (-31 + 2 * x2 + 64 * x1 + 1024 * x0), 2,
          tmp26);
      const f32v tmp28 = where(tmp26, tmp27, splat(tmp12));
      const f32v tmp29 = maximum(tmp21, tmp28);
      const i64 tmp30 = 2 * x1;
      const bool tmp31 = tmp30 >= tmp1;
      const bool tmp32 = tmp30 < tmp3;
      const bool tmp33 = tmp31 & tmp32;
      const Mask tmp34 = splat(tmp33) & tmp9;
      const f32v tmp35 = load_strided(lanes, in_ptr0 + (-1 + 2 * x2 + 64 * x1 + 1024 * x0), 2,
          tmp34);
      const f32v tmp36 = where(tmp34, tmp35, splat(tmp12));
      const f32v tmp37 = maximum(tmp29, tmp36);
      const Mask tmp38 = splat(tmp33) & tmp17;
      const f32v tmp39 = load_strided(lanes, in_ptr0 + (2 * x2 + 64 * x1 + 1024 * x0), 2, tmp38);
      const f32v tmp40 = where(tmp38, tmp39, splat(tmp12));
      const f32v tmp41 = maximum(tmp37, tmp40);
      const Mask tmp42 = splat(tmp33) & tmp25;
      const f32v tmp43 = load_strided(lanes, in_ptr0 + (1 + 2 * x2 + 64 * x1 + 1024 * x0), 2,
          tmp42);
      const f32v tmp44 = where(tmp42, tmp43, splat(tmp12));
      const f32v tmp45 = maximum(tmp41, tmp44);
      const i64 tmp46 = 1 + 2 * x1;
      const bool tmp47 = tmp46 >= tmp1;
      const bool tmp48 = tmp46 < tmp3;
      const bool tmp49 = tmp47 & tmp48;
      const Mask tmp50 = splat(tmp49) & tmp9;
      const f32v tmp51 = load_strided(lanes, in_ptr0 + (31 + 2 * x2 + 64 * x1 + 1024 * x0), 2,
          tmp50);
      const f32v tmp52 = where(tmp50, tmp51, splat(tmp12));
      const f32v tmp53 = maximum(tmp45, tmp52);
      const Mask tmp54 = splat(tmp49) & tmp17;
      const f32v tmp55 = load_strided(lanes, in_ptr0 + (32 + 2 * x2 + 64 * x1 + 1024 * x0), 2,
          tmp54);
      const f32v tmp56 = where(tmp54, tmp55, splat(tmp12));
      const f32v tmp57 = maximum(tmp53, tmp56);
      const Mask tmp58 = splat(tmp49) & tmp25;
      const f32v tmp59 = load_strided(lanes, in_ptr0 + (33 + 2 * x2 + 64 * x1 + 1024 * x0), 2,
          tmp58);
      const f32v tmp60 = where(tmp58, tmp59, splat(tmp12));
      const f32v tmp61 = maximum(tmp57, tmp60);
      store(lanes, out_ptr0 + (x2 + 16 * x1 + 256 * x0), tmp61);
    });
  });
}

}  // namespace spyre::kernels
