// A compiled graph as one launch: plan/launch_plan.py executed with one enqueue per call.
//
// Note [Resolved plans]: everything that depends on sizes (layouts, offsets in the workspace, sizes
// passed to kernels, the choice between inline and queued) is computed once per set of sizes and
// kept. A call then fills a table of addresses and hands it over.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "runtime/extern_call.h"
#include "runtime/int_program.h"
#include "runtime/launch.h"

namespace spyre::runtime {

struct SizeSource {
  enum class Kind { kValue, kSize, kStride };
  std::int32_t input = 0;
  Kind kind = Kind::kValue;
  std::int32_t dim = 0;
};
struct MemorySpec {
  enum class Source { kInput, kOutput, kTemporary };
  Source source = Source::kTemporary;
  std::int32_t input = -1;
  IntProgram bytes;
};
struct SlotSpec {
  std::string name;
  std::int32_t memory = 0;
  at::ScalarType dtype = at::ScalarType::Float;
  std::vector<IntProgram> sizes, strides;
  IntProgram offset;  // elements
};
struct KernelCall {
  std::shared_ptr<const Kernel> kernel;
  std::vector<std::int32_t> slots;
  std::vector<std::int32_t> sizes;  // positions in the table of evaluated sizes
  bool barrier = true;              // false: may run beside the kernels before it
};
struct SeedCall {
  std::int32_t slot = 0;
};
using StepSpec = std::variant<KernelCall, std::shared_ptr<const ExternCall>, SeedCall>;

struct OutputSpec {
  enum class Kind { kTensor, kInput, kSize, kNone };
  Kind kind = Kind::kNone;
  std::int32_t index = 0;  // slot, input, or position in the table of evaluated sizes
};

struct LaunchPlanSpec {
  std::string name;
  int device = 0;
  bool cpu_resident = false;
  std::size_t input_count = 0;  // with constants
  std::vector<SizeSource> size_sources;
  std::vector<IntProgram> sizes;  // every size that steps and outputs use, over size_sources
  std::vector<MemorySpec> memories;
  std::vector<SlotSpec> slots;
  std::vector<StepSpec> steps;
  std::vector<OutputSpec> outputs;
};

// An argument of the call: a tensor, or an integer when `tensor` is null.
struct CallInput {
  const at::Tensor* tensor = nullptr;
  std::int64_t value = 0;
};
struct CallOutput {
  OutputSpec::Kind kind = OutputSpec::Kind::kNone;
  at::Tensor tensor;
  std::int64_t value = 0;  // of a size, or the position of an input
};

class LaunchPlan {
 public:
  // Throws std::invalid_argument when the spec contradicts itself.
  explicit LaunchPlan(LaunchPlanSpec spec);
  ~LaunchPlan();

  // Runs or queues one call on the card's current stream. Throws LaunchMismatch for arguments that
  // do not fit, OutOfMemoryError, the stream's pending error, and an inline step's own fault.
  std::vector<CallOutput> call(const std::vector<CallInput>& inputs) const;

  const LaunchPlanSpec& spec() const;

 private:
  class Program;
  class PlanWork;
  struct Resolved;
  std::shared_ptr<const Resolved> resolve(const std::vector<CallInput>& inputs) const;

  std::shared_ptr<const Program> program_;
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<const Resolved>> resolved_;  // most recent first
};

}  // namespace spyre::runtime
