// Sharing of storages between processes; torch_spyre/multiprocessing.py makes pickles of it.
#include <pybind11/pybind11.h>

#include "bindings/bindings.h"
#include "bindings/python_objects.h"
#include "runtime/shared_event.h"
#include "runtime/shared_memory.h"
#include "runtime/stream.h"

namespace py = pybind11;

namespace spyre::bindings {

namespace {

const at::Tensor& tensor_of(const py::handle& object) {
  const at::Tensor* tensor = as_tensor(object.ptr());
  if (tensor == nullptr) {
    throw py::type_error("expected a torch.Tensor");
  }
  return *tensor;
}

}  // namespace

bool bind_shared_memory(PyObject* object) {
  auto module = py::reinterpret_borrow<py::module_>(object);
  module.def("share_storage", [](const py::object& tensor) {
    const runtime::SharedHandle handle = runtime::share_storage(tensor_of(tensor));
    return py::make_tuple(handle.process_id, handle.descriptor, handle.id, handle.nbytes);
  });
  module.def("open_shared", [](std::int64_t process_id, std::int64_t descriptor,
                               const std::string& id, std::size_t nbytes, int card) {
    return py::reinterpret_steal<py::object>(
        THPVariable_Wrap(runtime::open_shared({process_id, descriptor, id, nbytes}, card)));
  });
  module.def("acknowledge_shared",
             [](const py::object& tensor) { runtime::acknowledge_shared(tensor_of(tensor)); });
  module.def("collect_shared_memory", [] { return runtime::collect_shared_memory(); });

  using runtime::SharedEvent;
  using Release = py::call_guard<py::gil_scoped_release>;
  const auto stream_at = [](int index, device::StreamId id) {
    return runtime::from_c10(runtime::to_c10({index, id}));
  };
  py::class_<SharedEvent>(module, "SharedEvent", py::module_local())
      .def(py::init<>())
      .def(py::init(
          [](std::int64_t process_id, std::int64_t descriptor, const std::string& id,
             std::size_t nbytes) { return SharedEvent({process_id, descriptor, id, nbytes}); }))
      .def("record", [stream_at](const SharedEvent& event, int index,
                                 device::StreamId id) { event.record(stream_at(index, id)); })
      .def("wait", [stream_at](const SharedEvent& event, int index,
                               device::StreamId id) { event.wait(stream_at(index, id)); })
      .def("query", &SharedEvent::query)
      .def("synchronize", &SharedEvent::synchronize, Release())
      .def("handle", [](const SharedEvent& event) {
        const runtime::SharedHandle handle = event.handle();
        return py::make_tuple(handle.process_id, handle.descriptor, handle.id, handle.nbytes);
      });
  return true;
}

}  // namespace spyre::bindings
