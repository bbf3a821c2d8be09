// What is known about an operator before it is called; made once, at registration.
#pragma once
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace spyre::aten {

// How the time of an operator grows with its tensors.
enum class CostKind : std::uint8_t { kElementwise, kMatmul, kOther };

struct OperatorRecord {
  std::string name;  // aten::add.out
  std::uint32_t argument_count = 0;
  std::uint32_t return_count = 0;
  std::uint64_t written_arguments = 0;  // bit i: argument i is written (first 64)
  bool mutates = false;
  bool queueable = false;           // its outputs' metadata are known before it runs
  bool outputs_may_resize = false;  // queueable only once the shapes of out= were looked at
  bool pointwise = false;
  bool random = false;
  bool reads_data = false;           // the shape of its result, or the result, is host knowledge
  bool takes_host_tensors = false;   // arguments that live on the host on every device
  bool reads_requires_grad = false;  // the kernel computes more for inputs that need gradients
  CostKind cost = CostKind::kOther;
  std::atomic<std::uint64_t> inlined{0}, queued{0}, waited{0};
};

// Lives as long as the process. `structured_out`: the `.out` overload of a structured operator.
OperatorRecord* make_record(const c10::OperatorHandle& op, bool structured_out);
// For operators that reach the global fallback; made on first use. Thread-safe.
OperatorRecord* find_or_make_record(const c10::OperatorHandle& op);

// "Float[3, 4], Long[3]": the tensors among the last `count` values of a call, for messages.
std::string tensors_text(const torch::jit::Stack& stack, std::size_t count);

// Calls per operator since the last reset, for operators that were called through the boxed
// kernel: run inline, queued, or waited for the stream ("fallbacks" in the user's words).
struct OperatorCounter {
  std::string name;
  std::uint64_t inlined, queued, waited;
};
std::vector<OperatorCounter> operator_counters();
void reset_operator_counters();

}  // namespace spyre::aten
