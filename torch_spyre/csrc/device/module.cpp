#include "module.h"

#include <dlfcn.h>

namespace spyre::device {
namespace {

std::string dl_message() {
  const char* text = dlerror();
  return text == nullptr ? "unknown loader error" : text;
}

}  // namespace

Status Module::load(const std::string& path, std::shared_ptr<Module>* out) {
  // A bare file name would make dlopen search the library path.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return Status::error(StatusCode::kLoadFailed,
                         "cannot load kernel module '" + path + "': " + dl_message());
  }
  std::shared_ptr<Module> module(new Module(handle, path));  // unloads on every way out
  const auto* version = static_cast<const int*>(dlsym(handle, SPYRE_KERNEL_ABI_SYMBOL));
  if (version == nullptr) {
    return Status::error(
        StatusCode::kLoadFailed,
        "'" + path + "' is not a kernel module: it does not export " + SPYRE_KERNEL_ABI_SYMBOL);
  }
  if (*version != SPYRE_KERNEL_ABI_VERSION) {
    return Status::error(StatusCode::kLoadFailed,
                         "kernel module '" + path + "' has ABI version " +
                             std::to_string(*version) + ", this device needs version " +
                             std::to_string(SPYRE_KERNEL_ABI_VERSION) + ": compile it again");
  }
  *out = std::move(module);
  return Status::ok();
}

Status Module::find(const std::string& symbol, spyre_kernel_fn* out) const {
  void* address = dlsym(handle_, symbol.c_str());
  if (address == nullptr) {
    return Status::error(StatusCode::kLoadFailed,
                         "kernel module '" + path_ + "' has no entry point '" + symbol + "'");
  }
  *out = reinterpret_cast<spyre_kernel_fn>(address);
  return Status::ok();
}

const std::string& Module::path() const { return path_; }

Module::~Module() { dlclose(handle_); }

}  // namespace spyre::device
