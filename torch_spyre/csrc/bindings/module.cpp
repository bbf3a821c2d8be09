// torch_spyre._C: registers the runtime with PyTorch, then the Python functions.
#include <pybind11/pybind11.h>

#include "aten/register.h"
#include "bindings/bindings.h"
#include "bindings/interpreter.h"
#include "bindings/launch.h"
#include "bindings/torch_python.h"
#include "runtime/registration.h"

namespace spyre::bindings {

PYBIND11_MODULE(_C, module) {
  pybind11::register_local_exception_translator([](std::exception_ptr error) {
    if (error) {
      torch::translate_exception_to_python(error);
    }
  });
  runtime::register_runtime();
  aten::register_operators();
  join_interpreter();
  for (auto* bind : {bind_device, bind_stream, bind_memory, bind_memory_stats, bind_memory_history,
                     bind_random, bind_operators, bind_shared_memory, bind_tunable, add_launch}) {
    if (!bind(module.ptr())) {
      throw pybind11::error_already_set();
    }
  }
}

}  // namespace spyre::bindings
