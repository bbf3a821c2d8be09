#include "device/module.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "check.h"

using namespace spyre::device;

namespace {

// A directory with one compiled source; removed with the object.
class Compiled {
 public:
  explicit Compiled(const std::string& source) {
    char pattern[] = "/tmp/spyre_module_XXXXXX";
    folder_ = mkdtemp(pattern);
    std::ofstream(folder_ + "/kernel.cpp") << source;
    const char* cxx = std::getenv("SPYRE_TEST_CXX");
    const char* include = std::getenv("SPYRE_TEST_INCLUDE");
    const std::string command = std::string(cxx == nullptr ? "g++" : cxx) + " -shared -fPIC -I" +
                                (include == nullptr ? "torch_spyre/include" : include) + " -o " +
                                path() + " " + folder_ + "/kernel.cpp";
    CHECK_EQ(std::system(command.c_str()), 0);
  }
  ~Compiled() {
    for (const char* name : {"/kernel.cpp", "/kernel.so"}) unlink((folder_ + name).c_str());
    rmdir(folder_.c_str());
  }
  std::string path() const { return folder_ + "/kernel.so"; }

 private:
  std::string folder_;
};

constexpr const char* kGood = R"(
#include "spyre/kernel_abi.h"
extern "C" const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;
extern "C" void twice(const spyre_kernel_args* args, int, int) {
  *static_cast<int*>(args->buffers[0]) *= 2;
}
)";

}  // namespace

TEST(a_module_loads_and_its_entry_points_run) {
  Compiled compiled(kGood);
  std::shared_ptr<Module> module;
  CHECK_OK(Module::load(compiled.path(), &module));
  if (module == nullptr) return;
  CHECK_EQ(module->path(), compiled.path());
  spyre_kernel_fn twice = nullptr;
  CHECK_OK(module->find("twice", &twice));
  int value = 21;
  void* buffers[] = {&value};
  spyre_kernel_error error{};
  const spyre_kernel_args args{buffers, nullptr, nullptr, &error, 0, nullptr};
  twice(&args, 0, 1);
  CHECK_EQ(value, 42);
}

TEST(a_missing_symbol_is_named) {
  Compiled compiled(kGood);
  std::shared_ptr<Module> module;
  CHECK_OK(Module::load(compiled.path(), &module));
  if (module == nullptr) return;
  spyre_kernel_fn entry = nullptr;
  const Status status = module->find("thrice", &entry);
  CHECK_CODE(status, StatusCode::kLoadFailed);
  CHECK_CONTAINS(status.message, "no entry point 'thrice'");
  CHECK_CONTAINS(status.message, compiled.path());
  CHECK(entry == nullptr);
}

TEST(a_missing_file_is_named) {
  std::shared_ptr<Module> module;
  const Status status = Module::load("/nowhere/kernel.so", &module);
  CHECK_CODE(status, StatusCode::kLoadFailed);
  CHECK_CONTAINS(status.message, "/nowhere/kernel.so");
  CHECK(module == nullptr);
}

TEST(another_abi_version_is_refused) {
  Compiled compiled("extern \"C\" { extern const int spyre_kernel_abi_version = 999; }");
  std::shared_ptr<Module> module;
  const Status status = Module::load(compiled.path(), &module);
  CHECK_CODE(status, StatusCode::kLoadFailed);
  CHECK_CONTAINS(status.message, "has ABI version 999");
  CHECK(module == nullptr);
}

TEST(a_library_that_is_not_a_module_is_refused) {
  Compiled compiled("int unrelated = 1;");
  std::shared_ptr<Module> module;
  CHECK_CONTAINS(Module::load(compiled.path(), &module).message, "is not a kernel module");
  std::ofstream(compiled.path()) << "damaged";
  CHECK_CODE(Module::load(compiled.path(), &module), StatusCode::kLoadFailed);
}
