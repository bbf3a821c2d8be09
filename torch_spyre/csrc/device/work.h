// Queued work: what a stream holds and an engine of the card runs.
#pragma once
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "status.h"

namespace spyre::device {

// The two engines of a card. kCompute owns the card's only parallel team; kDma moves bytes.
enum class Engine : int { kCompute = 0, kDma = 1 };

// One unit of work. run() may be called again when the work was captured into a graph, so it must
// not consume its state. Memory of the card's pool is protected by stream order and may be held by
// address; anything else (adopted host memory, pinned memory) must be owned by the work.
// An exception that leaves run() becomes the stream's error.
class Work {
 public:
  explicit Work(std::string name) : name_(std::move(name)) {}
  virtual ~Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  virtual Status run() = 0;
  // True for work that reports its parts to the profiler itself (activity.h).
  virtual bool reports_itself() const { return false; }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

template <class F>
class FunctionWork final : public Work {
 public:
  FunctionWork(std::string name, F fn) : Work(std::move(name)), fn_(std::move(fn)) {}
  Status run() override {
    if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
      fn_();
      return Status::ok();
    } else {
      return fn_();
    }
  }

 private:
  F fn_;
};

template <class F>
std::unique_ptr<Work> make_work(std::string name, F fn) {
  return std::make_unique<FunctionWork<F>>(std::move(name), std::move(fn));
}

}  // namespace spyre::device
