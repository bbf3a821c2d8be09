// Convolution and its backward: the outputs' metadata are plain arithmetic, so large ones queue.
//
// Outputs have the layout in which the CPU answers, channels-last or contiguous; fake tensors
// (torch_spyre/fake_tensors.py) predict it by the same rule, and compiled graphs check it.
#include <ATen/native/ConvUtils.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/copy_native.h>
#include <c10/util/accumulate.h>

#include <array>
#include <tuple>

#include "aten/cpu_alias.h"
#include "aten/device_check.h"
#include "aten/execution.h"
#include "aten/factories.h"
#include "aten/register.h"

namespace spyre::aten {
namespace {

constexpr double kInlineMultiplyAdds = 1 << 20;

struct Parameters {
  c10::DimVector stride, padding, dilation, output_padding;
  bool transposed;
  std::int64_t groups;
};

double multiply_adds(at::IntArrayRef outer, at::IntArrayRef weight) {
  const double points = static_cast<double>(c10::multiply_integers(outer));
  const double taps = static_cast<double>(c10::multiply_integers(weight));
  return points * taps / std::max<double>(1.0, static_cast<double>(weight[0]));
}

std::vector<std::int64_t> output_size(const at::Tensor& input, const at::Tensor& weight,
                                      const Parameters& p) {
  return p.transposed
             ? at::native::conv_input_size(input.sizes(), weight.sizes(), p.padding,
                                           p.output_padding, p.stride, p.dilation, p.groups)
             : at::native::conv_output_size(input.sizes(), weight.sizes(), p.padding, p.stride,
                                            p.dilation);
}

// Of the results of a convolution, by the CPU's rule; both tensors are aliases on the CPU.
at::MemoryFormat result_format(const at::Tensor& input, const at::Tensor& weight,
                               const at::Tensor& bias, const Parameters& p) {
  const auto symbolic = [](const c10::DimVector& values) {
    return c10::fromIntArrayRefSlow(values);
  };
  const auto backend = at::native::select_conv_backend(
      input, weight, bias, symbolic(p.stride), symbolic(p.padding), symbolic(p.dilation),
      p.transposed, symbolic(p.output_padding), p.groups, std::nullopt);
  return at::native::_determine_backend_memory_format(input, weight, backend);
}

at::Tensor new_result(at::IntArrayRef sizes, at::MemoryFormat format, const at::Tensor& like) {
  if (sizes.size() == 4 && format == at::MemoryFormat::ChannelsLast)
    return new_tensor_strided(sizes, c10::get_channels_last_strides_2d(sizes), like.scalar_type(),
                              like.device());
  if (sizes.size() == 5 && format == at::MemoryFormat::ChannelsLast3d)
    return new_tensor_strided(sizes, c10::get_channels_last_strides_3d(sizes), like.scalar_type(),
                              like.device());
  return new_tensor(sizes, like.scalar_type(), like.device());
}

at::Tensor convolution(const at::Tensor& input, const at::Tensor& weight,
                       const std::optional<at::Tensor>& bias, at::IntArrayRef stride,
                       at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
                       at::IntArrayRef output_padding, std::int64_t groups) {
  const at::Tensor bias_tensor = bias.value_or(at::Tensor());
  check_same_device({&input, &weight, &bias_tensor});
  Parameters p{c10::DimVector(stride),
               c10::DimVector(padding),
               c10::DimVector(dilation),
               c10::DimVector(output_padding),
               transposed,
               groups};
  AliasSet aliases(Ownership::kBorrowPool);
  at::Tensor in = aliases.alias(input), w = aliases.alias(weight), b = aliases.alias(bias_tensor);
  at::Tensor result = new_result(output_size(input, weight, p), result_format(in, w, b, p), input);
  const bool small = multiply_adds(transposed ? input.sizes() : result.sizes(), weight.sizes()) <=
                     kInlineMultiplyAdds;
  run_or_queue(runtime::current_stream(input.device().index()), "convolution", small,
               [p = std::move(p), out = aliases.alias(result), in = std::move(in), w = std::move(w),
                b = std::move(b)]() mutable {
                 at::native::copy_(out,
                                   at::convolution(in, w, b, p.stride, p.padding, p.dilation,
                                                   p.transposed, p.output_padding, p.groups),
                                   false);
               });
  return result;
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> convolution_backward(
    const at::Tensor& grad_output, const at::Tensor& input, const at::Tensor& weight,
    at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
    at::IntArrayRef output_padding, std::int64_t groups, std::array<bool, 3> output_mask) {
  check_same_device({&grad_output, &input, &weight});
  Parameters p{c10::DimVector(stride),
               c10::DimVector(padding),
               c10::DimVector(dilation),
               c10::DimVector(output_padding),
               transposed,
               groups};
  const std::int64_t channels = transposed ? weight.size(1) * groups : weight.size(0);
  std::array<at::Tensor, 3> grads;
  AliasSet aliases(Ownership::kBorrowPool);
  at::Tensor in = aliases.alias(input), w = aliases.alias(weight);
  const at::MemoryFormat format = result_format(in, w, at::Tensor(), p);
  std::array<at::Tensor, 3> targets;
  const std::array<at::DimVector, 3> sizes = {
      at::DimVector(input.sizes()), at::DimVector(weight.sizes()), at::DimVector({channels})};
  for (std::size_t i = 0; i < grads.size(); ++i) {
    if (output_mask[i]) {
      grads[i] = new_result(sizes[i], format, input);
      targets[i] = aliases.alias(grads[i]);
    }
  }
  const bool small =
      2 * multiply_adds(transposed ? input.sizes() : grad_output.sizes(), weight.sizes()) <=
      kInlineMultiplyAdds;
  run_or_queue(runtime::current_stream(input.device().index()), "convolution_backward", small,
               [p = std::move(p), targets, output_mask, channels, grad = aliases.alias(grad_output),
                in = std::move(in), w = std::move(w)]() mutable {
                 const std::array<std::int64_t, 1> bias_sizes = {channels};
                 auto [dx, dw, db] = at::convolution_backward(
                     grad, in, w, at::IntArrayRef(bias_sizes), p.stride, p.padding, p.dilation,
                     p.transposed, p.output_padding, p.groups, output_mask);
                 const std::array<at::Tensor, 3> results = {dx, dw, db};
                 for (std::size_t i = 0; i < targets.size(); ++i) {
                   if (output_mask[i]) {
                     at::native::copy_(targets[i], results[i], false);
                   }
                 }
               });
  return {grads[0], grads[1], grads[2]};
}

}  // namespace

void register_convolution(torch::Library& library) {
  library.impl("convolution_overrideable", TORCH_FN(convolution));
  library.impl("convolution_backward_overrideable", TORCH_FN(convolution_backward));
}

}  // namespace spyre::aten
