// SPDX-License-Identifier: Apache-2.0
#include "faces/gpu_runtime.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <headroom/allocator.h>

#include <array>

#include "base/text.h"

namespace headroom::faces {
namespace {

// By soname, newest first, as PyTorch's builds are linked; its wheels for ROCm carry one without a
// number.
constexpr std::array cuda_libraries = {"libcudart.so.14", "libcudart.so.13", "libcudart.so.12",
                                       "libcudart.so.11.0"};
constexpr std::array hip_libraries = {"libamdhip64.so.8", "libamdhip64.so.7", "libamdhip64.so.6",
                                      "libamdhip64.so.5", "libamdhip64.so"};

template <std::size_t n>
void* find(const std::array<const char*, n>& libraries, const char* function) {
  return find_loaded(libraries.data(), n, function);
}

}  // namespace

void* find_loaded(const char* const* libraries, std::size_t count, const char* function) {
  for (std::size_t i = 0; i < count; ++i) {
    // The handle is kept, so that the library stays loaded.
    void* library = ::dlopen(libraries[i], RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) continue;
    if (void* found = ::dlsym(library, function); found != nullptr) return found;
  }
  return nullptr;
}

void* find_in_hip(const char* function) {
  return find(hip_libraries, function);
}

Result<std::uint32_t> find_loaded_backend() {
  // A build for HIP never loads CUDA's runtime; one for CUDA is at home where both are installed.
  if (find(cuda_libraries, "cudaGetDeviceCount") != nullptr)
    return std::uint32_t{HEADROOM_BACKEND_CUDA};
  if (find(hip_libraries, "hipGetDeviceCount") != nullptr)
    return std::uint32_t{HEADROOM_BACKEND_HIP};
  return Error{Errc::unsupported,
               "expected HIP's runtime or CUDA's in this process, found neither, as in a PyTorch "
               "that is built for the CPU",
               "python -m torch.utils.collect_env says which build it is"};
}

Result<std::string> find_pci_address(std::uint32_t backend, int device) {
  if (backend == HEADROOM_BACKEND_HOST) return std::string("host");
  void* const found = backend == HEADROOM_BACKEND_HIP
                          ? find(hip_libraries, "hipDeviceGetPCIBusId")
                          : find(cuda_libraries, "cudaDeviceGetPCIBusId");
  std::array<char, 32> address{};
  const auto ask = reinterpret_cast<int (*)(char*, int, int)>(found);
  if (ask == nullptr || ask(address.data(), static_cast<int>(address.size()) - 1, device) != 0)
    return Error{Errc::unsupported,
                 fmt::format("expected the PCI address of GPU {}, found none", device),
                 "unset HEADROOM_ALLOCATOR_BUDGETS"};
  return to_lower(address.data());
}

}  // namespace headroom::faces
