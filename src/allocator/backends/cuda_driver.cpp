// SPDX-License-Identifier: Apache-2.0
#include "allocator/backends/cuda_driver.h"

#include <array>

#include "allocator/backends/api_driver.h"
#include "allocator/backends/cuda_api.h"

namespace headroom::allocator {
namespace {

std::string name_of(const CudaApi& api, int code) {
  const char* name = nullptr;
  const bool known = api.error_name(code, &name) == CudaApi::success && name != nullptr;
  return known ? name : fmt::format("error {}", code);
}

class CudaSession {
 public:
  // Takes over one reference to the device's primary context.
  CudaSession(const CudaApi& api, int device, CudaApi::Context context)
      : api_(api), device_(device), context_(context) {}
  CudaSession(CudaSession&& other) noexcept
      : api_(other.api_),
        device_(other.device_),
        context_(std::exchange(other.context_, CudaApi::Context{})) {}
  CudaSession& operator=(CudaSession&&) = delete;
  ~CudaSession() {
    if (context_ != nullptr) static_cast<void>(api_.release_context(device_));
  }

  const CudaApi& api() const { return api_; }
  int device() const { return device_; }
  static std::string_view name() { return "CUDA"; }
  std::string error_name(int code) const { return name_of(api_, code); }

  // The current context belongs to the application's thread, so it is restored at the end.
  class Scope {
   public:
    explicit Scope(const CudaSession& session) : session_(&session) {
      const CudaApi& api = session.api_;
      CudaApi::Context before{};
      ready_ = api.current_context(&before);
      if (ready_ == CudaApi::success && before != session.context_) {
        ready_ = api.push_context(session.context_);
        pushed_ = ready_ == CudaApi::success;
      }
      // Without this, a cuMemAlloc here would end another thread's capture of a graph.
      capture_changed_ = api.exchange_capture_mode(&capture_mode_) == CudaApi::success;
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() {
      const CudaApi& api = session_->api_;
      if (capture_changed_) static_cast<void>(api.exchange_capture_mode(&capture_mode_));
      CudaApi::Context ours{};
      if (pushed_) static_cast<void>(api.pop_context(&ours));
    }

    int ready() const { return ready_; }
    void note_failure() {}  // The driver keeps no last error.

   private:
    const CudaSession* session_;
    int ready_ = CudaApi::success;
    int capture_mode_ = CudaApi::relaxed_capture;
    bool capture_changed_ = false;
    bool pushed_ = false;
  };

 private:
  CudaApi api_;
  int device_;
  CudaApi::Context context_;
};

class CudaDriver final : public ApiDriver<CudaApi, CudaSession> {
 public:
  using ApiDriver::ApiDriver;

  Result<std::string> gpu_name() override {
    std::array<char, 256> name{};
    HEADROOM_CHECK(call("asking for its name", 0, api().device_name, name.data(),
                        static_cast<int>(name.size()) - 1, session().device()));
    return std::string(name.data());
  }
  Result<int> version() override {
    int version = 0;
    HEADROOM_CHECK(call("asking for CUDA's version", 0, api().driver_version, &version));
    return version;
  }
};

Error no_usable_gpu(const CudaApi& api, int code) {
  return {Errc::unsupported,
          fmt::format("CUDA finds no GPU that it can use: {}", name_of(api, code)),
          "nvidia-smi says why a GPU cannot be used"};
}

Result<int> count(const CudaApi& api) {
  int count = 0;
  int code = api.init(0);
  if (code == CudaApi::success) code = api.device_count(&count);
  if (code == CudaApi::success) return count;
  return no_usable_gpu(api, code);
}

}  // namespace

Result<int> count_cuda_gpus() {
  HEADROOM_TRY(const CudaApi api, CudaApi::load());
  return count(api);
}

Result<std::unique_ptr<Driver>> open_cuda(int device) {
  HEADROOM_TRY(const CudaApi api, CudaApi::load());
  HEADROOM_TRY(const int gpus, count(api));
  if (device < 0 || device >= gpus)
    return Error{Errc::unsupported,
                 fmt::format("expected GPU {}, found {} of them in CUDA", device, gpus),
                 "nvidia-smi lists the GPUs of this machine"};
  int handle = 0;
  CudaApi::Context context{};
  int code = api.device(&handle, device);
  if (code == CudaApi::success) code = api.retain_context(&context, handle);
  if (code == CudaApi::success)
    return std::unique_ptr<Driver>(std::make_unique<CudaDriver>(CudaSession(api, handle, context)));
  return no_usable_gpu(api, code);
}

}  // namespace headroom::allocator
