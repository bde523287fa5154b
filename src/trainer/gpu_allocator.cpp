// SPDX-License-Identifier: Apache-2.0
#include "trainer/gpu_allocator.h"

#include <ATen/Context.h>
#include <dlfcn.h>

#include <array>
#include <memory>
#include <utility>

namespace headroom::trainer {
namespace {

using allocator::GpuRuntime;

// createCustomAllocator() and changeCurrentAllocator() of torch::cuda::CUDAPluggableAllocator, as
// the linker calls them: with the stream's type of CUDA or HIP, and with the allocator's class as
// PyTorch's translation to HIP calls it, or has left it.
struct Names {
  GpuRuntime runtime;
  const char* create;
  const char* change;
};
constexpr const char* create_cuda =
    "_ZN5torch4cuda22CUDAPluggableAllocator21createCustomAllocatorESt8functionIFPvmiP11CUstream_"
    "stEES2_IFvS3_miS5_EE";
constexpr const char* create_hip =
    "_ZN5torch4cuda22CUDAPluggableAllocator21createCustomAllocatorESt8functionIFPvmiP12ihipStream_"
    "tEES2_IFvS3_miS5_EE";
constexpr const char* change_cuda =
    "_ZN5torch4cuda22CUDAPluggableAllocator22changeCurrentAllocatorERKSt10shared_ptrIN3c104cuda20CU"
    "DACachingAllocator13CUDAAllocatorEE";
constexpr const char* change_hip =
    "_ZN5torch4cuda22CUDAPluggableAllocator22changeCurrentAllocatorERKSt10shared_ptrIN3c103hip19HIP"
    "CachingAllocator12HIPAllocatorEE";
constexpr std::array<Names, 3> all_names = {{{GpuRuntime::cuda, create_cuda, change_cuda},
                                             {GpuRuntime::hip, create_hip, change_hip},
                                             {GpuRuntime::hip, create_hip, change_cuda}}};

// A stream is a pointer, and a shared_ptr is passed and returned in the same way whatever it points
// to: with these types they are called as by their own.
using Allocate = std::function<void*(std::size_t, int, void*)>;
using Free = std::function<void(void*, std::size_t, int, void*)>;
using Create = std::shared_ptr<void>(Allocate, Free);
using Change = void(const std::shared_ptr<void>&);

struct Found {
  GpuRuntime runtime;
  Create* create;
  Change* change;
};

std::optional<Found> find() {
  for (const Names& names : all_names) {
    auto* create = reinterpret_cast<Create*>(::dlsym(RTLD_DEFAULT, names.create));
    auto* change = reinterpret_cast<Change*>(::dlsym(RTLD_DEFAULT, names.change));
    if (create != nullptr && change != nullptr) return Found{names.runtime, create, change};
  }
  return std::nullopt;
}

}  // namespace

bool has_gpu() {
  return at::hasCUDA();  // As libtorch calls it, whichever runtime it is built for.
}

std::optional<GpuRuntime> replaceable_gpu_runtime() {
  const auto found = find();
  return found ? std::optional(found->runtime) : std::nullopt;
}

Status replace_gpu_allocator(GpuMemoryFunctions functions) {
  const auto found = find();
  if (!found)
    return Error{Errc::unsupported,
                 "expected a libtorch whose allocator on the GPU can be replaced, found none",
                 "--device cpu, or a PyTorch for CUDA or ROCm from 2.0 on"};
  // The allocator outlives everything: libtorch frees through it until the process ends.
  static std::shared_ptr<void> replaced;
  replaced = found->create([allocate = std::move(functions.allocate)](
                               std::size_t bytes, int, void*) { return allocate(bytes); },
                           [free = std::move(functions.free)](void* address, std::size_t, int,
                                                              void*) { free(address); });
  found->change(replaced);
  return Done{};
}

}  // namespace headroom::trainer
