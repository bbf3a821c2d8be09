// Loading of compiled kernels (shared objects that export kernel_abi.h entry points).
#pragma once
#include <memory>
#include <string>

#include "spyre/kernel_abi.h"
#include "status.h"

namespace spyre::device {

// A loaded shared object; unloaded with its last reference.
class Module {
 public:
  static Status load(const std::string& path, std::shared_ptr<Module>* out);  // checks ABI version
  Status find(const std::string& symbol, spyre_kernel_fn* out) const;
  const std::string& path() const;
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

 private:
  Module(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  void* handle_;
  std::string path_;
};

}  // namespace spyre::device
