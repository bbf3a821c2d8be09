// torch_spyre._C: registers the runtime with PyTorch, then the Python functions.
#include <cxxabi.h>
#include <pybind11/pybind11.h>
#include <unistd.h>

#include "aten/register.h"
#include "bindings/bindings.h"
#include "bindings/launch.h"
#include "bindings/torch_python.h"
#include "device/stream.h"
#include "runtime/registration.h"

namespace spyre::bindings {

namespace {

// A wait in layer 0 gives the GIL back when this thread holds it. Null: nothing to restore.
void* release_gil() {
  return Py_IsInitialized() && PyGILState_Check() ? PyEval_SaveThread() : nullptr;
}
// Python ends threads that ask for the GIL while it is torn down, by unwinding their stacks. That
// would meet destructors, which may not throw, and abort the process: such a thread stays here.
void acquire_gil(void* state) {
  if (state == nullptr) {
    return;
  }
  try {
    PyEval_RestoreThread(static_cast<PyThreadState*>(state));
  } catch (const abi::__forced_unwind&) {
    for (;;) {
      ::pause();
    }
  }
}

}  // namespace

PYBIND11_MODULE(_C, module) {
  pybind11::register_local_exception_translator([](std::exception_ptr error) {
    if (error) {
      torch::translate_exception_to_python(error);
    }
  });
  runtime::register_runtime();
  aten::register_operators();
  device::set_wait_hooks(release_gil, acquire_gil);
  for (auto* bind : {bind_device, bind_stream, bind_memory, bind_memory_stats, bind_memory_history,
                     bind_random, bind_operators, bind_shared_memory, bind_tunable, add_launch}) {
    if (!bind(module.ptr())) {
      throw pybind11::error_already_set();
    }
  }
}

}  // namespace spyre::bindings
