// LSTM and GRU cells: PyTorch takes the fused cell on this device, except where
// recurrent_layers.cpp does without, and no CPU kernel for it exists. Composed from CPU operators
// on aliases; formulas of ATen/native/cuda/RNN.cu (torch 2.13).
#include <ATen/TensorOperators.h>
#include <ATen/ops/add.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/copy_native.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros_like.h>

#include <tuple>

#include "aten/cpu_alias.h"
#include "aten/device_check.h"
#include "aten/execution.h"
#include "aten/factories.h"
#include "aten/register.h"

namespace spyre::aten {
namespace {

constexpr std::int64_t kInlineElements = 8192;

at::Tensor like(const at::Tensor& tensor, at::IntArrayRef sizes) {
  return new_tensor(sizes, tensor.scalar_type(), tensor.device());
}

template <class F>
void run(const char* name, const at::Tensor& gates, F&& work) {
  run_or_queue(runtime::current_stream(gates.device().index()), name,
               gates.numel() <= kInlineElements, std::forward<F>(work));
}

// 16-bit cells compute in float32 and round their results, as on CUDA.
at::Tensor wide(const at::Tensor& tensor) {
  const bool narrow = tensor.defined() && at::isReducedFloatingType(tensor.scalar_type());
  return narrow ? tensor.to(at::kFloat) : tensor;
}

at::Tensor add_biases(const at::Tensor& gates, const at::Tensor& first, const at::Tensor& second) {
  at::Tensor sum = gates;
  if (first.defined()) {
    sum = sum + first;
  }
  if (second.defined()) {
    sum = sum + second;
  }
  return sum;
}

// gates [B, 4H] in the order input, forget, cell, output; workspace keeps them activated.
std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm_cell(
    const at::Tensor& input_gates, const at::Tensor& hidden_gates, const at::Tensor& cx,
    const std::optional<at::Tensor>& input_bias, const std::optional<at::Tensor>& hidden_bias) {
  const at::Tensor bias1 = input_bias.value_or(at::Tensor());
  const at::Tensor bias2 = hidden_bias.value_or(at::Tensor());
  check_same_device({&input_gates, &hidden_gates, &cx, &bias1, &bias2});
  at::Tensor hy = like(cx, cx.sizes());
  at::Tensor cy = like(cx, cx.sizes());
  at::Tensor workspace = like(input_gates, input_gates.sizes());
  AliasSet aliases(Ownership::kBorrowPool);
  run("lstm_cell", input_gates,
      [gi = aliases.alias(input_gates), gh = aliases.alias(hidden_gates), c0 = aliases.alias(cx),
       b1 = aliases.alias(bias1), b2 = aliases.alias(bias2), h = aliases.alias(hy),
       c = aliases.alias(cy), w = aliases.alias(workspace)]() mutable {
        const auto gates = add_biases(wide(gi) + wide(gh), wide(b1), wide(b2)).chunk(4, 1);
        const at::Tensor in = gates[0].sigmoid();
        const at::Tensor forget = gates[1].sigmoid();
        const at::Tensor cell = gates[2].tanh();
        const at::Tensor out = gates[3].sigmoid();
        const at::Tensor next = forget * wide(c0) + in * cell;
        at::native::copy_(c, next, false);
        at::native::copy_(h, out * next.tanh(), false);
        at::cat_out(w, {in, forget, cell, out}, 1);
      });
  return {hy, cy, workspace};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm_cell_backward(
    const std::optional<at::Tensor>& grad_hy_opt, const std::optional<at::Tensor>& grad_cy_opt,
    const at::Tensor& cx, const at::Tensor& cy, const at::Tensor& workspace, bool has_bias) {
  const at::Tensor grad_hy = grad_hy_opt.value_or(at::Tensor());
  const at::Tensor grad_cy = grad_cy_opt.value_or(at::Tensor());
  if (!grad_hy.defined() && !grad_cy.defined()) {
    return {};
  }
  check_same_device({&grad_hy, &grad_cy, &cx, &cy, &workspace});
  at::Tensor grad_gates = like(workspace, workspace.sizes());
  at::Tensor grad_cx = like(cx, cx.sizes());
  at::Tensor grad_bias = has_bias ? like(workspace, {workspace.size(1)}) : at::Tensor();
  AliasSet aliases(Ownership::kBorrowPool);
  run("lstm_cell_backward", workspace,
      [gh = aliases.alias(grad_hy), gc = aliases.alias(grad_cy), c0 = aliases.alias(cx),
       c = aliases.alias(cy), w = aliases.alias(workspace), dg = aliases.alias(grad_gates),
       dc = aliases.alias(grad_cx), db = aliases.alias(grad_bias)]() mutable {
        const auto gates = wide(w).chunk(4, 1);
        const at::Tensor &in = gates[0], &forget = gates[1], &cell = gates[2], &out = gates[3];
        const at::Tensor tanh_c = wide(c).tanh(), grad_h = wide(gh);
        at::Tensor grad_c = gc.defined() ? wide(gc) : at::zeros_like(tanh_c);
        at::Tensor grad_out = at::zeros_like(tanh_c);
        if (gh.defined()) {
          grad_c = grad_c + grad_h * out * (1 - tanh_c * tanh_c);
          grad_out = grad_h * tanh_c * out * (1 - out);
        }
        at::cat_out(dg,
                    {grad_c * cell * in * (1 - in), grad_c * wide(c0) * forget * (1 - forget),
                     grad_c * in * (1 - cell * cell), grad_out},
                    1);
        at::native::copy_(dc, grad_c * forget, false);
        if (db.defined()) {
          at::native::copy_(db, dg.sum(0), false);
        }
      });
  return {grad_gates, grad_cx, grad_bias};
}

// gates [B, 3H] in the order reset, input, new; workspace [B, 5H]: r, i, n, hx, hidden n with bias.
std::tuple<at::Tensor, at::Tensor> gru_cell(const at::Tensor& input_gates,
                                            const at::Tensor& hidden_gates, const at::Tensor& hx,
                                            const std::optional<at::Tensor>& input_bias,
                                            const std::optional<at::Tensor>& hidden_bias) {
  const at::Tensor bias1 = input_bias.value_or(at::Tensor());
  const at::Tensor bias2 = hidden_bias.value_or(at::Tensor());
  check_same_device({&input_gates, &hidden_gates, &hx, &bias1, &bias2});
  at::Tensor hy = like(hx, hx.sizes());
  at::Tensor workspace = like(hx, {hx.size(0), hx.size(1) * 5});
  AliasSet aliases(Ownership::kBorrowPool);
  run("gru_cell", input_gates,
      [gi = aliases.alias(input_gates), gh = aliases.alias(hidden_gates), h0 = aliases.alias(hx),
       b1 = aliases.alias(bias1), b2 = aliases.alias(bias2), h = aliases.alias(hy),
       w = aliases.alias(workspace)]() mutable {
        const auto in = add_biases(wide(gi), wide(b1), {}).chunk(3, 1);
        const auto hidden = add_biases(wide(gh), wide(b2), {}).chunk(3, 1);
        const at::Tensor reset = (in[0] + hidden[0]).sigmoid();
        const at::Tensor update = (in[1] + hidden[1]).sigmoid();
        const at::Tensor candidate = (in[2] + reset * hidden[2]).tanh();
        at::native::copy_(h, candidate + update * (wide(h0) - candidate), false);
        at::cat_out(w, {reset, update, candidate, wide(h0), hidden[2]}, 1);
      });
  return {hy, workspace};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> gru_cell_backward(
    const at::Tensor& grad_hy, const at::Tensor& workspace, bool has_bias) {
  check_same_device({&grad_hy, &workspace});
  const std::int64_t batch = grad_hy.size(0), hidden_size = workspace.size(1) / 5;
  at::Tensor grad_in = like(workspace, {batch, hidden_size * 3});
  at::Tensor grad_hidden = like(workspace, {batch, hidden_size * 3});
  at::Tensor grad_hx = like(workspace, grad_hy.sizes());
  at::Tensor bias1 = has_bias ? like(workspace, {hidden_size * 3}) : at::Tensor();
  at::Tensor bias2 = has_bias ? like(workspace, {hidden_size * 3}) : at::Tensor();
  AliasSet aliases(Ownership::kBorrowPool);
  run("gru_cell_backward", workspace,
      [go = aliases.alias(grad_hy), w = aliases.alias(workspace), di = aliases.alias(grad_in),
       dh = aliases.alias(grad_hidden), dx = aliases.alias(grad_hx), d1 = aliases.alias(bias1),
       d2 = aliases.alias(bias2)]() mutable {
        const auto saved = wide(w).chunk(5, 1);
        const at::Tensor grad = wide(go);
        const at::Tensor &reset = saved[0], &update = saved[1], &candidate = saved[2],
                         &h0 = saved[3], &hidden_n = saved[4];
        const at::Tensor grad_update = grad * (h0 - candidate) * (1 - update) * update;
        const at::Tensor grad_n = grad * (1 - update) * (1 - candidate * candidate);
        const at::Tensor grad_reset = grad_n * hidden_n * (1 - reset) * reset;
        at::cat_out(di, {grad_reset, grad_update, grad_n}, 1);
        at::cat_out(dh, {grad_reset, grad_update, grad_n * reset}, 1);
        at::native::copy_(dx, grad * update, false);
        if (d1.defined()) {
          at::native::copy_(d1, di.sum(0), false);
          at::native::copy_(d2, dh.sum(0), false);
        }
      });
  return {grad_in, grad_hidden, grad_hx, bias1, bias2};
}

}  // namespace

void register_recurrent_cells(torch::Library& library) {
  library.impl("_thnn_fused_lstm_cell", TORCH_FN(lstm_cell));
  library.impl("_thnn_fused_lstm_cell_backward_impl", TORCH_FN(lstm_cell_backward));
  library.impl("_thnn_fused_gru_cell", TORCH_FN(gru_cell));
  library.impl("_thnn_fused_gru_cell_backward", TORCH_FN(gru_cell_backward));
}

}  // namespace spyre::aten
