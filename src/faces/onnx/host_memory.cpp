// SPDX-License-Identifier: Apache-2.0
#include "faces/onnx/host_memory.h"

#include <fmt/format.h>

#include "faces/messages.h"
#include "faces/settings.h"

namespace headroom::onnx_face {
namespace {

constexpr headroom_tag tag = {HEADROOM_OTHER, 0};

template <class Function>
Function function_at(void* const* api, std::size_t place) {
  return reinterpret_cast<Function>(api[place]);
}

Status check(void* const* api, OrtStatus status) {
  if (status == nullptr) return Done{};
  const Error error{Errc::unsupported,
                    function_at<GetErrorMessage>(api, get_error_message_at)(status), ""};
  function_at<ReleaseStatus>(api, release_status_at)(status);
  return error;
}

Result<headroom_allocator*> open() {
  HEADROOM_TRY(const faces::Settings settings, faces::parse_settings(faces::read_variable));
  headroom_allocator_options options = faces::make_options(settings, "");
  options.backend = HEADROOM_BACKEND_HOST;
  options.capacity_bytes = settings.capacity_bytes;
  headroom_allocator* const made = headroom_allocator_create(&options);
  if (made == nullptr) return Error{Errc::unsupported, headroom_last_error(), ""};
  return made;
}

}  // namespace

Status HostMemory::register_with(const OrtApiBase& base) {
  const MutexLock lock(mutex_);
  if (get() != nullptr) return Error{Errc::invalid, "it is registered already", ""};
  void* const* const api = base.get_api(ort_version);
  if (api == nullptr)
    return Error{Errc::unsupported,
                 fmt::format("expected ONNX Runtime's interface of version {}, found {} without it",
                             ort_version, base.get_version_string()),
                 ""};
  HEADROOM_TRY(headroom_allocator* const made, open());
  made_.store(made, std::memory_order_release);
  version = ort_version;
  allocate = [](OrtAllocator* self, std::size_t bytes) {
    return static_cast<HostMemory*>(self)->take(bytes);
  };
  reserve = allocate;
  release = [](OrtAllocator* self, void* block) {
    static_cast<HostMemory*>(self)->give_back(block);
  };
  info = [](const OrtAllocator* self) -> const void* {
    return static_cast<const HostMemory*>(self)->info_;
  };
  void* environment = nullptr;  // The one that the Python module has: there is one in a process.
  HEADROOM_CHECK(check(
      api, function_at<CreateEnv>(api, create_env_at)(severity_error, "headroom", &environment)));
  HEADROOM_CHECK(check(api, function_at<CreateMemoryInfo>(api, create_memory_info_at)(
                                "Cpu", device_allocator, 0, default_memory, &info_)));
  return check(api, function_at<RegisterAllocator>(api, register_allocator_at)(environment, this));
}

void* HostMemory::take(std::size_t bytes) {
  void* const block = headroom_allocate(get(), bytes, nullptr, tag);
  if (block == nullptr) {
    counts.out_of_memory.fetch_add(1, std::memory_order_relaxed);
    throw Refused(
        fmt::format("CPU out of memory. Tried to allocate {}, by headroom's allocator.\n{}",
                    faces::torch_size(bytes), faces::explain(get(), bytes, nullptr)));
  }
  counts.allocations.fetch_add(1, std::memory_order_relaxed);
  return block;
}

void HostMemory::give_back(void* block) noexcept {
  if (block == nullptr) return;
  const bool is_ours = headroom_free(get(), block, nullptr) == HEADROOM_OK;
  auto& count = is_ours ? counts.frees : counts.foreign_frees;
  count.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace headroom::onnx_face
