#include "aten/operator_record.h"

#include <ATen/core/enum_tag.h>

#include <deque>
#include <mutex>
#include <sstream>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace spyre::aten {
namespace {

struct Registry {
  std::mutex mutex;
  std::deque<OperatorRecord> records;  // addresses stay
  std::unordered_map<std::string, OperatorRecord*> by_name;
};
Registry& registry() {
  static Registry* instance = new Registry;  // used until the process ends
  return *instance;
}

// Not structured, but in-place with nothing that a shape check could refuse.
const std::unordered_set<std::string_view>& plain_in_place() {
  static const std::unordered_set<std::string_view> names = {
      "aten::fill_.Scalar",  "aten::zero_",       "aten::_fused_adam_",
      "aten::_fused_adamw_", "aten::_fused_sgd_", "aten::_fused_adagrad_",
  };
  return names;
}

// Random fills of a tensor whose arguments can be checked without drawing.
const std::unordered_set<std::string_view>& random_fills() {
  static const std::unordered_set<std::string_view> names = {
      "aten::bernoulli_.Tensor", "aten::bernoulli_.float", "aten::cauchy_",  "aten::exponential_",
      "aten::geometric_",        "aten::log_normal_",      "aten::normal_",  "aten::random_",
      "aten::random_.from",      "aten::random_.to",       "aten::uniform_",
  };
  return names;
}

// CUDA's kernels accept these arguments on the host as well.
const std::unordered_set<std::string_view>& host_argument_names() {
  static const std::unordered_set<std::string_view> names = {
      "aten::index",
      "aten::index_put_",
      "aten::index_put",
      "aten::_unsafe_index",
      "aten::_index_put_impl_",
      "aten::_unsafe_index_put",
      "aten::_pack_padded_sequence",
      "aten::_pad_packed_sequence",
      "aten::_ctc_loss",
      "aten::_use_cudnn_ctc_loss",
      "aten::_nested_tensor_from_tensor_list",
      "aten::record_stream",
      "aten::_segment_reduce_backward",
      "aten::normal",
      "aten::_fused_adam_",
      "aten::_fused_adamw_",
      "aten::_fused_sgd_",
      "aten::_fused_adagrad_",
      "aten::_nested_view_from_buffer",
      "aten::_nested_view_from_buffer_copy",
  };
  return names;
}

const std::unordered_set<std::string_view>& matmul_names() {
  static const std::unordered_set<std::string_view> names = {
      "aten::mm",         "aten::addmm", "aten::bmm",     "aten::baddbmm",
      "aten::addbmm",     "aten::mv",    "aten::addmv",   "aten::dot",
      "aten::vdot",       "aten::addr",  "aten::_int_mm", "aten::_addmm_activation",
      "aten::_scaled_mm",
  };
  return names;
}

bool is_random(const c10::FunctionSchema& schema) {
  for (const c10::Argument& argument : schema.arguments()) {
    const auto type = argument.type();
    if (type->kind() == c10::TypeKind::GeneratorType) {
      return true;
    }
    if (type->kind() == c10::TypeKind::OptionalType &&
        type->expectRef<c10::OptionalType>().getElementType()->kind() ==
            c10::TypeKind::GeneratorType) {
      return true;
    }
  }
  return false;
}

}  // namespace

OperatorRecord* make_record(const c10::OperatorHandle& op, bool structured_out) {
  const c10::FunctionSchema& schema = op.schema();
  Registry& all = registry();
  const std::lock_guard<std::mutex> lock(all.mutex);
  OperatorRecord& record = all.records.emplace_back();
  record.name = c10::toString(op.operator_name());
  record.argument_count = static_cast<std::uint32_t>(schema.arguments().size());
  record.return_count = static_cast<std::uint32_t>(schema.returns().size());
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::AliasInfo* alias = schema.arguments()[i].alias_info();
    if (alias != nullptr && alias->isWrite()) {
      record.mutates = true;
      record.written_arguments |= i < 64 ? std::uint64_t{1} << i : 0;
    }
  }
  const std::string& base = op.operator_name().name;
  record.random = is_random(schema) || op.hasTag(at::Tag::nondeterministic_seeded);
  record.pointwise = op.hasTag(at::Tag::pointwise);
  record.reads_data =
      op.hasTag(at::Tag::dynamic_output_shape) || op.hasTag(at::Tag::data_dependent_output);
  record.takes_host_tensors = host_argument_names().contains(base);
  record.reads_requires_grad = base == "aten::_sparse_mm_reduce_impl";  // arg_out of amax, amin
  const bool foreach_in_place =
      base.starts_with("aten::_foreach_") && base.ends_with("_") && record.mutates;
  // Other random operators check what they drew, or their results' shapes depend on it.
  record.queueable =
      record.random ? random_fills().contains(record.name)
                    : structured_out || foreach_in_place || plain_in_place().contains(record.name);
  record.outputs_may_resize = structured_out;
  const bool elementwise = (record.queueable && !record.random) || record.pointwise;
  record.cost = matmul_names().contains(base) ? CostKind::kMatmul
                : elementwise                 ? CostKind::kElementwise
                                              : CostKind::kOther;
  all.by_name[record.name] = &record;
  return &record;
}

OperatorRecord* find_or_make_record(const c10::OperatorHandle& op) {
  Registry& all = registry();
  {
    const std::lock_guard<std::mutex> lock(all.mutex);
    const auto found = all.by_name.find(c10::toString(op.operator_name()));
    if (found != all.by_name.end()) {
      return found->second;
    }
  }
  return make_record(op, /*structured_out=*/false);
}

std::vector<OperatorCounter> operator_counters() {
  Registry& all = registry();
  const std::lock_guard<std::mutex> lock(all.mutex);
  std::vector<OperatorCounter> counters;
  for (const OperatorRecord& record : all.records) {
    OperatorCounter counter{record.name, record.inlined, record.queued, record.waited};
    if (counter.inlined + counter.queued + counter.waited > 0) {
      counters.push_back(std::move(counter));
    }
  }
  return counters;
}

std::string tensors_text(const torch::jit::Stack& stack, std::size_t count) {
  std::ostringstream text;
  for (std::size_t i = stack.size() - count; i < stack.size(); ++i) {
    if (!stack[i].isTensor() || !stack[i].toTensor().defined()) continue;
    const at::Tensor& tensor = stack[i].toTensor();
    text << (text.tellp() > 0 ? ", " : "") << c10::toString(tensor.scalar_type()) << tensor.sizes();
  }
  return text.str();
}

void reset_operator_counters() {
  Registry& all = registry();
  const std::lock_guard<std::mutex> lock(all.mutex);
  for (OperatorRecord& record : all.records) {
    record.inlined = record.queued = record.waited = 0;
  }
}

}  // namespace spyre::aten
