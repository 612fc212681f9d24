#include "backend/cuda/cublas.hpp"

#include <cublas_v2.h>
#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <vector>

namespace fedsinkhorn::cuda {
namespace {

void check_cublas(cublasStatus_t status, const char* doing) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw DeviceError(std::string("cuBLAS failed (") + doing + "): status " + std::to_string(static_cast<int>(status)));
}

/// First the loader's own search, then the usual places of the toolkit.
std::vector<std::string> library_paths() {
  constexpr std::array names = {"libcublas.so.13", "libcublas.so.12", "libcublas.so"};
  std::vector<std::string> folders = {""};
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* folder = std::getenv(variable)) folders.push_back(std::string(folder) + "/lib64/");
  }
  folders.emplace_back("/usr/local/cuda/lib64/");
  std::vector<std::string> paths;
  for (const std::string& folder : folders) {
    for (const char* name : names) paths.push_back(folder + name);
  }
  return paths;
}

/// The functions used here, with their types from the header. The library stays loaded.
struct Library {
  decltype(&cublasCreate_v2) create = nullptr;
  decltype(&cublasDestroy_v2) destroy = nullptr;
  decltype(&cublasSetStream_v2) set_stream = nullptr;
  decltype(&cublasSetWorkspace_v2) set_workspace = nullptr;
  decltype(&cublasDgemm_v2) dgemm = nullptr;

  [[nodiscard]] bool complete() const { return create && destroy && set_stream && set_workspace && dgemm; }
};

Library load() {
  for (const std::string& path : library_paths()) {
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) continue;
    Library library;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    };
    find(library.create, "cublasCreate_v2");
    find(library.destroy, "cublasDestroy_v2");
    find(library.set_stream, "cublasSetStream_v2");
    find(library.set_workspace, "cublasSetWorkspace_v2");
    find(library.dgemm, "cublasDgemm_v2");
    if (library.complete()) return library;
    dlclose(handle);
  }
  return {};
}

const Library& library() {
  static const Library loaded = load();
  return loaded;
}

class LoadedCublas final : public Cublas {
 public:
  LoadedCublas() : workspace_(kCublasWorkspaceBytes) { check_cublas(library().create(&handle_), "making a handle"); }
  ~LoadedCublas() override { library().destroy(handle_); }

  void multiply(std::size_t rows, std::size_t columns, std::size_t length, ColumnMajor a, ColumnMajor b, double* c,
                std::size_t stride, cudaStream_t stream) override {
    check_cublas(library().set_stream(handle_, stream), "setting the stream");
    // After the stream: setting the stream resets the workspace.
    check_cublas(library().set_workspace(handle_, workspace_.data(), workspace_.size()), "giving a workspace");
    const double one = 1;
    const double zero = 0;
    const auto way = [](const ColumnMajor& x) { return x.transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
    const auto integer = [](std::size_t x) { return static_cast<int>(x); };
    check_cublas(library().dgemm(handle_, way(a), way(b), integer(rows), integer(columns), integer(length), &one,
                                 a.data, integer(a.stride), b.data, integer(b.stride), &zero, c, integer(stride)),
                 "multiplying");
  }

 private:
  cublasHandle_t handle_ = nullptr;
  DeviceBuffer<std::byte> workspace_;
};

}  // namespace

std::unique_ptr<Cublas> make_cublas() {
  if (!library().complete()) return nullptr;
  return std::make_unique<LoadedCublas>();
}

}  // namespace fedsinkhorn::cuda
