#include "aten/operator_record.h"

#include <ATen/core/enum_tag.h>

#include <algorithm>
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

// Random operators whose results' shapes do not depend on what they draw. rrelu keeps its draws in
// an argument of the input's shape.
const std::unordered_set<std::string_view>& random_results() {
  static const std::unordered_set<std::string_view> names = {
      "aten::normal.Tensor_float",
      "aten::normal.float_Tensor",
      "aten::normal.Tensor_Tensor",
      "aten::multinomial",
      "aten::poisson",
      "aten::binomial",
      "aten::_standard_gamma",
      "aten::_sample_dirichlet",
      "aten::rrelu_with_noise",
      "aten::bernoulli",
      "aten::bernoulli.p",
  };
  return names;
}

// Linear algebra's errors are known when the factors are, and the call must raise them; the others'
// results are not strided tensors, or are told to the host.
bool never_predicted(std::string_view base) {
  constexpr std::string_view kPrefixes[] = {
      "aten::linalg_",    "aten::_linalg",      "aten::cholesky", "aten::_cholesky",
      "aten::lu_",        "aten::geqrf",        "aten::ormqr",    "aten::triangular_solve",
      "aten::_to_sparse", "aten::_sparse",      "aten::sparse_",  "aten::_nested",
      "aten::quantize_",  "aten::_mkldnn",      "aten::mkldnn_",  "aten::_resize",
      "aten::_copy_from", "aten::_pack_padded", "aten::_assert",  "aten::_efficientzero",
  };
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return base.starts_with(prefix); });
}

bool is_new_tensor(const c10::Argument& result) {
  return result.alias_info() == nullptr && result.type()->kind() == c10::TypeKind::TensorType;
}

// Note [Predicted results]
void decide_predictable(const c10::OperatorHandle& op, OperatorRecord& record) {
  const std::string& base = op.operator_name().name;
  const auto& results = op.schema().returns();
  if ((record.queueable && !record.outputs_may_resize) || record.reads_data ||
      record.reads_requires_grad || results.empty() || !base.starts_with("aten::") ||
      never_predicted(base) || (record.random && !random_results().contains(record.name))) {
    return;
  }
  if (std::all_of(results.begin(), results.end(), is_new_tensor)) {
    record.predictable = !record.mutates || record.random || base.ends_with("_legit") ||
                         base.ends_with("_with_update");  // running statistics keep their shape
  } else if (base.ends_with("_") ? record.written_arguments == 1 && results.size() == 1
                                 : std::none_of(results.begin(), results.end(), is_new_tensor) &&
                                       record.written_arguments != 0) {
    record.predictable = record.writes_arguments = true;
  }
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
  decide_predictable(op, record);
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
