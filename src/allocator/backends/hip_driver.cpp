// SPDX-License-Identifier: Apache-2.0
#include "allocator/backends/hip_driver.h"

#include <array>

#include "allocator/backends/api_driver.h"
#include "allocator/backends/hip_api.h"

namespace headroom::allocator {
namespace {

class HipSession {
 public:
  HipSession(const HipApi& api, int device) : api_(api), device_(device) {}

  const HipApi& api() const { return api_; }
  int device() const { return device_; }
  static std::string_view name() { return "HIP"; }
  std::string error_name(int code) const { return api_.error_name(code); }

  // The current device belongs to the application's thread, so it is restored at the end.
  class Scope {
   public:
    explicit Scope(const HipSession& session) : session_(&session) {
      const HipApi& api = session.api_;
      error_before_ = api.peek_last_error();
      ready_ = api.get_device(&device_before_);
      if (ready_ == HipApi::success && device_before_ != session.device_)
        ready_ = api.set_device(session.device_);
      // Without this, a hipMalloc here would end another thread's capture of a graph.
      capture_changed_ = api.exchange_capture_mode(&capture_mode_) == HipApi::success;
      if (ready_ != HipApi::success) note_failure();
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() {
      const HipApi& api = session_->api_;
      if (capture_changed_) static_cast<void>(api.exchange_capture_mode(&capture_mode_));
      if (device_before_ >= 0 && device_before_ != session_->device_)
        static_cast<void>(api.set_device(device_before_));
      // Frameworks ask for the last error around their own calls and would take ours for theirs, so
      // it is cleared. If there was an error before, one stays, though perhaps not the same.
      if (failed_ && error_before_ == HipApi::success) static_cast<void>(api.take_last_error());
    }

    int ready() const { return ready_; }
    void note_failure() { failed_ = true; }

   private:
    const HipSession* session_;
    int error_before_ = HipApi::success;
    int device_before_ = -1;
    int ready_ = HipApi::success;
    int capture_mode_ = HipApi::relaxed_capture;
    bool capture_changed_ = false;
    bool failed_ = false;
  };

 private:
  HipApi api_;
  int device_;
};

class HipDriver final : public ApiDriver<HipApi, HipSession> {
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
    HEADROOM_CHECK(call("asking for HIP's version", 0, api().runtime_version, &version));
    return version;
  }
  Status check_virtual_memory() override {
    HEADROOM_TRY(const int found, version());
    if (found < HipApi::first_version)
      return Error{Errc::unsupported,
                   fmt::format("virtual memory needs a HIP runtime of 6.0 or later, found {}.{}",
                               found / 10000000, found / 100000 % 100),
                   ""};
    return ApiDriver::check_virtual_memory();
  }
};

Error no_such_gpu(const HipApi& api, std::string message) {
  static_cast<void>(api.take_last_error());
  return {Errc::unsupported, std::move(message), "headroom check says why a GPU cannot be used"};
}

Result<int> count(const HipApi& api) {
  int count = 0;
  int code = api.init(0);
  if (code == HipApi::success) code = api.device_count(&count);
  if (code == HipApi::success) return count;
  return no_such_gpu(api,
                     fmt::format("HIP finds no GPU that it can use: {}", api.error_name(code)));
}

}  // namespace

Result<int> count_hip_gpus() {
  HEADROOM_TRY(const HipApi api, HipApi::load());
  return count(api);
}

Result<std::unique_ptr<Driver>> open_hip(int device) {
  HEADROOM_TRY(const HipApi api, HipApi::load());
  HEADROOM_TRY(const int gpus, count(api));
  if (device >= 0 && device < gpus)
    return std::unique_ptr<Driver>(std::make_unique<HipDriver>(HipSession(api, device)));
  return no_such_gpu(api, fmt::format("expected GPU {}, found {} of them in HIP", device, gpus));
}

}  // namespace headroom::allocator
