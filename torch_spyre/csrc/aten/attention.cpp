// Scaled dot product attention: one fused operator forward and backward, run by the CPU's flash
// kernels, which write into the results; queued when large.
#include "aten/libtorch_stubs.h"

#include <ATen/Context.h>
#include <ATen/ExpandUtils.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/native/transformers/sdp_utils_cpp.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

#include "aten/cpu_alias.h"
#include "aten/device_check.h"
#include "aten/execution.h"
#include "aten/factories.h"
#include "aten/register.h"

namespace spyre::aten {
namespace {

constexpr double kInlineMultiplyAdds = 1 << 19;

bool fits_flash_kernel(const sdp::sdp_params& params) {
  return sdp::check_nested_tensor(params, false) && sdp::check_for_dropout(params, false) &&
         sdp::check_tensor_shapes(params, false) &&
         sdp::check_batch_size_and_num_heads_dense<true>(params, false) &&
         sdp::check_attn_mask_shape(params, false) && params.query.size(3) == params.key.size(3) &&
         params.query.size(3) == params.value.size(3) &&
         sdp::check_nonzero_sequence_lengths_dense(params, false) &&
         sdp::check_last_dim_stride_equals_1_dense<true>(params, false) &&
         sdp::check_tensor_dtype(
             params,
             std::array<at::ScalarType, 4>{at::kFloat, at::kDouble, at::kBFloat16, at::kHalf},
             false);
}

// Any of the fused back ends that CUDA code asks for means ours.
std::int64_t fused_sdp_choice(const at::Tensor& query, const at::Tensor& key,
                              const at::Tensor& value, const std::optional<at::Tensor>& mask,
                              double dropout, bool is_causal, std::optional<double>,
                              bool enable_gqa) {
  const at::Context& context = at::globalContext();
  const bool fused_enabled = context.userEnabledOverrideableSDP() ||
                             context.userEnabledFlashSDP() || context.userEnabledMemEfficientSDP();
  const sdp::sdp_params params{query, key, value, mask, dropout, is_causal, enable_gqa};
  if (fused_enabled && fits_flash_kernel(params) &&
      !(mask && mask->defined() && mask->requires_grad())) {
    return static_cast<std::int64_t>(at::SDPBackend::overrideable);
  }
  TORCH_CHECK(context.userEnabledMathSDP(),
              "No available kernel. Aborting execution: the fused attention of spyre takes 4-dim "
              "query, key and value of one floating dtype and head size, without dropout; enable "
              "SDPBackend.MATH for other inputs.");
  return static_cast<std::int64_t>(at::SDPBackend::math);
}

// The query's dimension order, dense: what the fake kernel predicts.
at::Tensor new_output(const at::Tensor& query, const at::Tensor& value) {
  at::DimVector sizes(query.sizes());
  sizes.back() = value.size(-1);
  if (query.is_non_overlapping_and_dense() && query.sizes() == at::IntArrayRef(sizes)) {
    return new_tensor_strided(sizes, query.strides(), query.scalar_type(), query.device());
  }
  std::array<std::int64_t, 4> order = {0, 1, 2, 3};
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return query.stride(a) > query.stride(b);
  });
  at::DimVector strides(4, 1);
  std::int64_t next = 1;
  for (std::size_t i = 4; i-- > 0;) {
    const auto dim = static_cast<std::size_t>(order[i]);
    strides[dim] = next;
    next *= std::max<std::int64_t>(sizes[dim], 1);
  }
  return new_tensor_strided(sizes, strides, query.scalar_type(), query.device());
}

bool is_small(const at::Tensor& query, const at::Tensor& key, double passes) {
  return passes * static_cast<double>(query.numel()) * static_cast<double>(key.size(-2)) <=
         kInlineMultiplyAdds;
}

using ForwardResult = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, c10::SymInt,
                                 c10::SymInt, at::Tensor, at::Tensor, at::Tensor>;

ForwardResult attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                        const std::optional<at::Tensor>& attn_bias, double dropout, bool is_causal,
                        bool /*return_debug_mask*/, std::optional<double> scale) {
  const at::Tensor bias = attn_bias.value_or(at::Tensor());
  check_same_device({&query, &key, &value, &bias});
  TORCH_CHECK(query.dim() == 4 && key.dim() == 4 && value.dim() == 4,
              "spyre attention: query, key and value must have shape [B, H, S, D], got ",
              query.sizes(), ", ", key.sizes(), " and ", value.sizes());
  TORCH_CHECK(dropout == 0, "spyre attention: no dropout in the fused operator, got ", dropout,
              "; use sdpa_kernel(SDPBackend.MATH)");
  at::Tensor output = new_output(query, value);
  at::Tensor logsumexp =
      new_tensor({query.size(0), query.size(1), query.size(2)},
                 query.scalar_type() == at::kDouble ? at::kDouble : at::kFloat, query.device());
  AliasSet aliases(Ownership::kBorrowPool);
  run_or_queue(runtime::current_stream(query.device().index()), "scaled_dot_product_attention",
               is_small(query, key, 2),
               [q = aliases.alias(query), k = aliases.alias(key), v = aliases.alias(value),
                b = aliases.alias(bias), out = aliases.alias(output),
                lse = aliases.alias(logsumexp), dropout, is_causal, scale]() mutable {
                 at::native::flash_attention_kernel(
                     at::kCPU, out.transpose(1, 2), lse.transpose(1, 2), q, k, v, dropout,
                     is_causal, b.defined() ? std::make_optional(b) : std::nullopt, scale);
               });
  // The kernel draws no random numbers (dropout takes the math path): empty seed and offset.
  at::Tensor seed = new_tensor({}, at::kLong, query.device());
  at::Tensor offset = new_tensor({}, at::kLong, query.device());
  return {output,       logsumexp, at::Tensor(), at::Tensor(), query.size(2),
          key.size(-2), seed,      offset,       at::Tensor()};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> attention_backward(
    const at::Tensor& grad_output, const at::Tensor& query, const at::Tensor& key,
    const at::Tensor& value, const at::Tensor& attn_bias, std::array<bool, 4> grad_input_mask,
    const at::Tensor& output, const at::Tensor& logsumexp, const at::Tensor&, const at::Tensor&,
    c10::SymInt, c10::SymInt, double dropout, bool is_causal, const at::Tensor&, const at::Tensor&,
    std::optional<double> scale) {
  TORCH_CHECK_NOT_IMPLEMENTED(!grad_input_mask[3],
                              "spyre attention: no gradient for the mask in the fused operator; "
                              "use sdpa_kernel(SDPBackend.MATH)");
  if (!grad_output.defined()) {
    return {};
  }
  const auto empty_like = [](const at::Tensor& tensor) {
    const auto strides = at::infer_dense_strides(tensor.sizes(), tensor.strides());
    return new_tensor_strided(tensor.sizes(), strides, tensor.scalar_type(), tensor.device());
  };
  at::Tensor grad_query = empty_like(query);
  at::Tensor grad_key = empty_like(key);
  at::Tensor grad_value = empty_like(value);
  AliasSet aliases(Ownership::kBorrowPool);
  run_or_queue(
      runtime::current_stream(query.device().index()), "scaled_dot_product_attention_backward",
      is_small(query, key, 5),
      [grad = aliases.alias(grad_output), q = aliases.alias(query), k = aliases.alias(key),
       v = aliases.alias(value), b = aliases.alias(attn_bias), out = aliases.alias(output),
       lse = aliases.alias(logsumexp), dq = aliases.alias(grad_query), dk = aliases.alias(grad_key),
       dv = aliases.alias(grad_value), dropout, is_causal, scale]() mutable {
        for (at::Tensor* sum : {&dq, &dk, &dv}) {
          sum->zero_();
        }
        at::native::flash_attention_backward_kernel(
            at::kCPU, dq.transpose(1, 2), dk.transpose(1, 2), dv.transpose(1, 2),
            grad.transpose(1, 2), q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2),
            out.transpose(1, 2), lse.transpose(1, 2), dropout, is_causal,
            b.defined() ? std::make_optional(b) : std::nullopt, scale);
      });
  return {grad_query, grad_key, grad_value, at::Tensor()};
}

}  // namespace

void register_attention(torch::Library& library) {
  at::native::_fused_sdp_choice_stub.set_privateuse1_dispatch_ptr(&fused_sdp_choice);
  library.impl("_scaled_dot_product_fused_attention_overrideable", TORCH_FN(attention));
  library.impl("_scaled_dot_product_fused_attention_overrideable_backward",
               TORCH_FN(attention_backward));
}

}  // namespace spyre::aten
