// Kernels of graph cumulative_max, written by spyre_inductor. Entry points:
//   spyre_fused_cummax_0
#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"
#include "spyre_kernels/scan.h"

namespace spyre::kernels {

SPYRE_EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;

// Kernel spyre_fused_cummax_0
//   from     aten.cummax.default  graphs.py:125: return x.cummax(0)
//   read     in_ptr0: float32[64, 48] strides [48, 1]  arg0_1
//   write    out_ptr0: float32[64, 48] strides [48, 1]  buf0
//   write    out_ptr1: int64[64, 48] strides [48, 1]  buf1
//   parallel x0 < 48
//   reduce   r0 < 64
//   cores    x0 over 1, grain 32
//   lanes    x0
//   LX tile  x0: 48, r0: 64 (49152 bytes)
SPYRE_KERNEL(spyre_fused_cummax_0) {
  const f32* const in_ptr0 = buffer<const f32>(args, 0);
  f32* const out_ptr0 = buffer<f32>(args, 1);
  i64* const out_ptr1 = buffer<i64>(args, 2);

  // Cores: x0, in units of 32.
  const Slice slice = core_slice(48, 32, core, cores);
  for_whole_lanes(slice.begin, slice.end, [&](auto lanes, i64 x0) SPYRE_STEP {

    // Stage 0: region, region along r0.
    bool tmp19_started = false;
    f32v tmp19_last{};
    i64v tmp20_last{};
    bool tmp38_started = false;
    f32v tmp38_last{};
    i64v tmp39_last{};
    for (i64 r0 = 0; r0 < 64; ++r0) {
      const f32v tmp0 = load(lanes, in_ptr0 + (x0 + 48 * r0));
      const i64 tmp1 = r0;
      if (tmp19_started) {
        const f32v tmp2 = tmp19_last;
        const i64v tmp3 = tmp20_last;
        const f32v tmp4 = tmp0;
        const i64v tmp5 = splat(tmp1);
        const Mask tmp6 = tmp2 > tmp4;
        const Mask tmp7 = tmp2 == tmp4;
        const Mask tmp8 = tmp2 != tmp2;
        const Mask tmp9 = tmp4 != tmp4;
        const Mask tmp10 = tmp8 > tmp9;
        const Mask tmp11 = tmp6 | tmp10;
        const Mask tmp12 = tmp8 & tmp9;
        const Mask tmp13 = tmp7 | tmp12;
        const Mask tmp14 = tmp3 > tmp5;
        const Mask tmp15 = tmp13 & tmp14;
        const Mask tmp16 = tmp11 | tmp15;
        const f32v tmp17 = where(tmp16, tmp2, tmp4);
        const i64v tmp18 = where(tmp16, tmp3, tmp5);
        tmp19_last = tmp17;
        tmp20_last = tmp18;
      }
      else {
        tmp19_last = tmp0;
        tmp20_last = splat(tmp1);
        tmp19_started = true;
      }
      const f32v tmp19 = tmp19_last;
      const i64v tmp20 = tmp20_last;
      store(lanes, out_ptr0 + (x0 + 48 * r0), tmp19);
      if (tmp38_started) {
        const f32v tmp21 = tmp38_last;
        const i64v tmp22 = tmp39_last;
        const f32v tmp23 = tmp0;
        const i64v tmp24 = splat(tmp1);
        const Mask tmp25 = tmp21 > tmp23;
        const Mask tmp26 = tmp21 == tmp23;
        const Mask tmp27 = tmp21 != tmp21;
        const Mask tmp28 = tmp23 != tmp23;
        const Mask tmp29 = tmp27 > tmp28;
        const Mask tmp30 = tmp25 | tmp29;
        const Mask tmp31 = tmp27 & tmp28;
        const Mask tmp32 = tmp26 | tmp31;
        const Mask tmp33 = tmp22 > tmp24;
        const Mask tmp34 = tmp32 & tmp33;
        const Mask tmp35 = tmp30 | tmp34;
        const f32v tmp36 = where(tmp35, tmp21, tmp23);
        const i64v tmp37 = where(tmp35, tmp22, tmp24);
        tmp38_last = tmp36;
        tmp39_last = tmp37;
      }
      else {
        tmp38_last = tmp0;
        tmp39_last = splat(tmp1);
        tmp38_started = true;
      }
      const f32v tmp38 = tmp38_last;
      const i64v tmp39 = tmp39_last;
      store(lanes, out_ptr1 + (x0 + 48 * r0), tmp39);
    }
  });
}

}  // namespace spyre::kernels
