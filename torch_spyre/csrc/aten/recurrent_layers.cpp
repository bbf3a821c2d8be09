// Recurrent networks of 16-bit types, layer by layer, with the CPU's roundings.
//
// Note [16-bit gates]: ATen gives every device but the CPU fused cells, which get the gates'
// products without the biases, already rounded to 16 bits. The CPU adds a bias before it rounds.
// It also makes the input's products of all steps at once, so that
// the weights' gradient is one product. So 16-bit layers are composed here of linear() and the
// CPU's gate arithmetic; autograd records the parts. Other types, and arguments that do not fit
// together, take ATen's own functions.
#include "aten/libtorch_stubs.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/RNN.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/gru_cell_native.h>
#include <ATen/ops/gru_native.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/lstm_cell_native.h>
#include <ATen/ops/lstm_native.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/rnn_relu_native.h>
#include <ATen/ops/rnn_tanh_native.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tanh.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "aten/register.h"

namespace spyre::aten {
namespace {

using at::Tensor;
using Hidden = c10::SmallVector<Tensor, 2>;  // h, and an LSTM's c
using Optional = std::optional<Tensor>;

struct Weights {
  Tensor ih, hh;
  Optional bias_ih, bias_hh;
  Tensor hr;  // projection of h, or undefined
};

Hidden lstm_step(const Tensor& input_gates, const Hidden& hidden, const Weights& w) {
  const auto gates = at::linear(hidden[0], w.hh, w.bias_hh).add_(input_gates).unsafe_chunk(4, 1);
  const Tensor in = gates[0].sigmoid_();
  const Tensor forget = gates[1].sigmoid_();
  const Tensor cell = gates[2].tanh_();
  const Tensor out = gates[3].sigmoid_();
  const Tensor next = (forget * hidden[1]).add_(in * cell);
  const Tensor h = out * next.tanh();
  return {w.hr.defined() ? at::matmul(h, w.hr.t()) : h, next};
}

Hidden gru_step(const Tensor& input_gates, const Hidden& hidden, const Weights& w) {
  const auto in = input_gates.unsafe_chunk(3, 1);
  const auto own = at::linear(hidden[0], w.hh, w.bias_hh).unsafe_chunk(3, 1);
  const Tensor reset = own[0].add_(in[0]).sigmoid_();
  const Tensor update = own[1].add_(in[1]).sigmoid_();
  const Tensor candidate = in[2].add(own[2].mul_(reset)).tanh_();
  return {(hidden[0] - candidate).mul_(update).add_(candidate)};
}

template <Tensor (*function)(const Tensor&)>
Hidden simple_step(const Tensor& input_gates, const Hidden& hidden, const Weights& w) {
  return {function(at::linear(hidden[0], w.hh, w.bias_hh).add_(input_gates))};
}

using Step = Hidden (*)(const Tensor&, const Hidden&, const Weights&);

Hidden rows(const Hidden& hidden, std::int64_t first, std::int64_t count) {
  Hidden part;
  for (const Tensor& tensor : hidden) {
    part.push_back(tensor.narrow(0, first, count));
  }
  return part;
}

// Tensor by tensor: rows behind rows, or on a new first axis.
Hidden joined(const std::vector<Hidden>& parts, bool on_new_axis = false) {
  Hidden whole;
  for (std::size_t i = 0; i < parts[0].size(); ++i) {
    std::vector<Tensor> tensors;
    for (const Hidden& part : parts) {
      tensors.push_back(part[i]);
    }
    whole.push_back(on_new_axis ? at::stack(tensors, 0) : at::cat(tensors, 0));
  }
  return whole;
}

// One direction of a layer. `gates` holds a tensor [rows, gates] per time step; packed sequences
// have fewer rows in later steps: finished rows leave, and join on the way back.
std::pair<std::vector<Tensor>, Hidden> run_direction(Step step, const std::vector<Tensor>& gates,
                                                     const Hidden& initial, const Weights& weights,
                                                     bool reversed) {
  const std::size_t steps = gates.size();
  std::vector<Tensor> outputs(steps);
  std::vector<Hidden> finished;
  Hidden hidden = reversed ? rows(initial, 0, gates[steps - 1].size(0)) : initial;
  for (std::size_t k = 0; k < steps; ++k) {
    const std::size_t t = reversed ? steps - 1 - k : k;
    const std::int64_t have = hidden[0].size(0), want = gates[t].size(0);
    if (want < have) {
      finished.push_back(rows(hidden, want, have - want));
      hidden = rows(hidden, 0, want);
    } else if (want > have) {
      hidden = joined({hidden, rows(initial, have, want - have)});
    }
    hidden = step(gates[t], hidden, weights);
    outputs[t] = hidden[0];
  }
  if (!finished.empty()) {
    finished.push_back(hidden);
    std::reverse(finished.begin(), finished.end());
    hidden = joined(finished);
  }
  return {std::move(outputs), std::move(hidden)};
}

struct Network {
  Step step;
  std::vector<Weights> weights;  // layer by layer, both directions of a layer together
  std::int64_t layers, directions;
  double dropout;             // between layers, 0 outside training
  const Tensor* batch_sizes;  // rows per time step of packed data, nullptr for padded input
};

std::vector<Tensor> split_steps(const Tensor& gates, const Tensor* batch_sizes) {
  if (batch_sizes == nullptr) {
    return gates.unbind(0);
  }
  std::vector<Tensor> steps;
  std::int64_t first = 0;
  const std::int64_t* sizes = batch_sizes->const_data_ptr<std::int64_t>();
  for (std::int64_t t = 0; t < batch_sizes->size(0); ++t) {
    steps.push_back(gates.narrow(0, first, sizes[t]));
    first += sizes[t];
  }
  return steps;
}

// input [T, B, features], or packed [rows, features]; hidden per layer and direction.
// Gives the last layer's outputs and the final hidden states, stacked.
std::pair<Tensor, Hidden> run_network(const Network& net, Tensor data,
                                      const std::vector<Hidden>& initial) {
  std::vector<Hidden> finals;
  for (std::int64_t layer = 0; layer < net.layers; ++layer) {
    std::vector<Tensor> sides;
    for (std::int64_t side = 0; side < net.directions; ++side) {
      const std::size_t index = static_cast<std::size_t>(layer * net.directions + side);
      const Weights& w = net.weights[index];
      const auto gates = split_steps(at::linear(data, w.ih, w.bias_ih), net.batch_sizes);
      TORCH_CHECK(!gates.empty(), "Expected sequence length to be larger than 0 in RNN");
      auto [outputs, final] = run_direction(net.step, gates, initial[index], w, side == 1);
      sides.push_back(net.batch_sizes == nullptr ? at::stack(outputs, 0) : at::cat(outputs, 0));
      finals.push_back(std::move(final));
    }
    data = sides.size() == 1 ? sides[0] : at::cat(sides, -1);
    if (net.dropout != 0 && layer < net.layers - 1) {
      data = at::dropout(data, net.dropout, /*train=*/true);
    }
  }
  return {std::move(data), joined(finals, /*on_new_axis=*/true)};
}

std::vector<Weights> gather_weights(at::TensorList params, bool has_biases, bool projected) {
  const std::size_t stride = 2 + (has_biases ? 2 : 0) + (projected ? 1 : 0);
  std::vector<Weights> weights;
  for (std::size_t i = 0; i + stride <= params.size(); i += stride) {
    Weights w{params[i], params[i + 1], std::nullopt, std::nullopt, {}};
    if (has_biases) {
      w.bias_ih = params[i + 2];
      w.bias_hh = params[i + 3];
    }
    if (projected) {
      w.hr = params[i + stride - 1];
    }
    weights.push_back(std::move(w));
  }
  return weights;
}

bool all_of_dtype(at::ScalarType dtype, at::TensorList tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [&](const Tensor& tensor) {
    return tensor.scalar_type() == dtype && tensor.is_privateuseone();
  });
}

// Whether this file computes it: 16 bits, and arguments in which ATen would find no mistake.
bool is_ours(const Tensor& input, std::int64_t input_dim, at::TensorList hx, at::TensorList params,
             bool has_biases, bool projected, std::int64_t count) {
  const std::size_t stride = 2 + (has_biases ? 2 : 0) + (projected ? 1 : 0);
  return at::isReducedFloatingType(input.scalar_type()) && input.dim() == input_dim &&
         all_of_dtype(input.scalar_type(), hx) && all_of_dtype(input.scalar_type(), params) &&
         params.size() == stride * static_cast<std::size_t>(count) &&
         std::all_of(hx.begin(), hx.end(), [&](const Tensor& tensor) {
           return tensor.dim() == 3 && tensor.size(0) == count;
         });
}

// The CPU's rule for running a layer in oneDNN.
bool takes_one_dnn(const Tensor& input) {
  if (!at::globalContext().userEnabledMkldnn() || input.numel() == 0) {
    return false;
  }
  const bool half = input.scalar_type() == at::kHalf;
  if (half && at::GradMode::is_enabled()) {
    return false;
  }
  const auto supported = c10::Dispatcher::singleton().findSchema(
      {half ? "mkldnn::_is_mkldnn_fp16_supported" : "mkldnn::_is_mkldnn_bf16_supported", ""});
  return supported && supported->typed<bool()>().call();
}

std::vector<Hidden> by_layer(at::TensorList hx) {
  std::vector<Hidden> hidden(static_cast<std::size_t>(hx[0].size(0)));
  for (const Tensor& tensor : hx) {
    const auto layers = tensor.unbind(0);
    for (std::size_t i = 0; i < layers.size(); ++i) {
      hidden[i].push_back(layers[i]);
    }
  }
  return hidden;
}

std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& input, at::TensorList hx,
                                        at::TensorList params, bool has_biases, std::int64_t layers,
                                        double dropout, bool train, bool bidirectional,
                                        bool batch_first) {
  const std::int64_t directions = bidirectional ? 2 : 1;
  const bool projected =
      hx.size() == 2 && hx[0].dim() == 3 && hx[1].dim() == 3 && hx[0].size(2) != hx[1].size(2);
  if (hx.size() != 2 ||
      !is_ours(input, 3, hx, params, has_biases, projected, layers * directions)) {
    return at::native::lstm(input, hx, params, has_biases, layers, dropout, train, bidirectional,
                            batch_first);
  }
  if (!projected && takes_one_dnn(input)) {
    Tensor output, hy, cy;
    at::native::lstm_mkldnn_stub(at::kCPU, output, hy, cy, input, hx, params, has_biases, layers,
                                 dropout, train, bidirectional, batch_first);
    return {output, hy, cy};
  }
  const Network net{&lstm_step,
                    gather_weights(params, has_biases, projected),
                    layers,
                    directions,
                    train ? dropout : 0,
                    nullptr};
  auto [output, hidden] =
      run_network(net, batch_first ? input.transpose(0, 1) : input, by_layer(hx));
  return {batch_first ? output.transpose(0, 1) : output, hidden[0], hidden[1]};
}

std::tuple<Tensor, Tensor, Tensor> lstm_packed(const Tensor& data, const Tensor& batch_sizes,
                                               at::TensorList hx, at::TensorList params,
                                               bool has_biases, std::int64_t layers, double dropout,
                                               bool train, bool bidirectional) {
  const std::int64_t directions = bidirectional ? 2 : 1;
  const bool projected =
      hx.size() == 2 && hx[0].dim() == 3 && hx[1].dim() == 3 && hx[0].size(2) != hx[1].size(2);
  if (hx.size() != 2 || !is_ours(data, 2, hx, params, has_biases, projected, layers * directions)) {
    return at::native::lstm(data, batch_sizes, hx, params, has_biases, layers, dropout, train,
                            bidirectional);
  }
  const Network net{&lstm_step,
                    gather_weights(params, has_biases, projected),
                    layers,
                    directions,
                    train ? dropout : 0,
                    &batch_sizes};
  auto [output, hidden] = run_network(net, data, by_layer(hx));
  return {output, hidden[0], hidden[1]};
}

// GRU and the simple networks: one hidden state, and ATen's function for what is not ours.
template <Step step, auto fallback>
std::tuple<Tensor, Tensor> one_state(const Tensor& input, const Tensor& hx, at::TensorList params,
                                     bool has_biases, std::int64_t layers, double dropout,
                                     bool train, bool bidirectional, bool batch_first) {
  const std::int64_t directions = bidirectional ? 2 : 1;
  if (!is_ours(input, 3, hx, params, has_biases, /*projected=*/false, layers * directions)) {
    return fallback(input, hx, params, has_biases, layers, dropout, train, bidirectional,
                    batch_first);
  }
  const Network net{
      step,   gather_weights(params, has_biases, false), layers, directions, train ? dropout : 0,
      nullptr};
  auto [output, hidden] =
      run_network(net, batch_first ? input.transpose(0, 1) : input, by_layer(hx));
  return {batch_first ? output.transpose(0, 1) : output, hidden[0]};
}

template <Step step, auto fallback>
std::tuple<Tensor, Tensor> one_state_packed(const Tensor& data, const Tensor& batch_sizes,
                                            const Tensor& hx, at::TensorList params,
                                            bool has_biases, std::int64_t layers, double dropout,
                                            bool train, bool bidirectional) {
  const std::int64_t directions = bidirectional ? 2 : 1;
  if (!is_ours(data, 2, hx, params, has_biases, /*projected=*/false, layers * directions)) {
    return fallback(data, batch_sizes, hx, params, has_biases, layers, dropout, train,
                    bidirectional);
  }
  const Network net{step,
                    gather_weights(params, has_biases, false),
                    layers,
                    directions,
                    train ? dropout : 0,
                    &batch_sizes};
  auto [output, hidden] = run_network(net, data, by_layer(hx));
  return {output, hidden[0]};
}

// ATen's functions for a padded batch and for a packed one have the same name.
using Padded = std::tuple<Tensor, Tensor> (*)(const Tensor&, const Tensor&, at::TensorList, bool,
                                              std::int64_t, double, bool, bool, bool);
using Packed = std::tuple<Tensor, Tensor> (*)(const Tensor&, const Tensor&, const Tensor&,
                                              at::TensorList, bool, std::int64_t, double, bool,
                                              bool);

template <Step step, Padded padded, Packed packed>
void register_one_state(torch::Library& library, const std::string& name) {
  library.impl((name + ".input").c_str(), &one_state<step, padded>);
  library.impl((name + ".data").c_str(), &one_state_packed<step, packed>);
}

// ATen's checks of a cell: rows and columns of [B, features] tensors.
bool cell_is_ours(const Tensor& input, at::TensorList hx, const Tensor& w_ih, const Tensor& w_hh,
                  const Optional& b_ih, const Optional& b_hh, std::int64_t gates) {
  std::vector<Tensor> all{w_ih, w_hh};
  all.insert(all.end(), hx.begin(), hx.end());
  for (const Optional& bias : {b_ih, b_hh}) {
    if (bias && bias->defined()) {
      all.push_back(*bias);
    }
  }
  if (!at::isReducedFloatingType(input.scalar_type()) || input.dim() != 2 || w_ih.dim() != 2 ||
      w_hh.dim() != 2 || !all_of_dtype(input.scalar_type(), all)) {
    return false;
  }
  const std::int64_t width = w_hh.size(1);
  return w_hh.size(0) == gates * width && w_ih.size(0) == gates * width &&
         w_ih.size(1) == input.size(1) &&
         std::all_of(hx.begin(), hx.end(), [&](const Tensor& tensor) {
           return tensor.dim() == 2 && tensor.size(0) == input.size(0) && tensor.size(1) == width;
         });
}

std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, at::TensorList hx, const Tensor& w_ih,
                                     const Tensor& w_hh, const Optional& b_ih,
                                     const Optional& b_hh) {
  if (hx.size() != 2 || !cell_is_ours(input, hx, w_ih, w_hh, b_ih, b_hh, 4)) {
    return at::native::lstm_cell(input, hx, w_ih, w_hh, b_ih, b_hh);
  }
  const Hidden next = lstm_step(at::linear(input, w_ih, b_ih), Hidden(hx.begin(), hx.end()),
                                {w_ih, w_hh, b_ih, b_hh, {}});
  return {next[0], next[1]};
}

Tensor gru_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                const Optional& b_ih, const Optional& b_hh) {
  if (!cell_is_ours(input, hx, w_ih, w_hh, b_ih, b_hh, 3)) {
    return at::native::gru_cell(input, hx, w_ih, w_hh, b_ih, b_hh);
  }
  return gru_step(at::linear(input, w_ih, b_ih), {hx}, {w_ih, w_hh, b_ih, b_hh, {}})[0];
}

}  // namespace

void register_recurrent_layers(torch::Library& library) {
  library.impl("lstm.input", TORCH_FN(lstm));
  library.impl("lstm.data", TORCH_FN(lstm_packed));
  register_one_state<&gru_step, &at::native::gru, &at::native::gru>(library, "gru");
  register_one_state<&simple_step<at::tanh>, &at::native::rnn_tanh, &at::native::rnn_tanh>(
      library, "rnn_tanh");
  register_one_state<&simple_step<at::relu>, &at::native::rnn_relu, &at::native::rnn_relu>(
      library, "rnn_relu");
  library.impl("lstm_cell", TORCH_FN(lstm_cell));
  library.impl("gru_cell", TORCH_FN(gru_cell));
}

}  // namespace spyre::aten
