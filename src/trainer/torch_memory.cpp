// SPDX-License-Identifier: Apache-2.0
#include "trainer/torch_memory.h"

#include <c10/core/Allocator.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <unordered_set>
#include <utility>

#include "base/mutex.h"
#include "trainer/gpu_allocator.h"

namespace headroom::trainer {

using allocator::ByComponent;
using allocator::Component;
using allocator::OutOfMemory;
using allocator::Policy;

class TorchMemory::Hook : public c10::Allocator {
 public:
  Hook(Policy& policy, ExplainRefusal explain) : policy_(policy), explain_(std::move(explain)) {}
  ~Hook() override {
    if (previous_ != nullptr) c10::SetAllocator(c10::DeviceType::CPU, previous_);
    if (of_gpu() == this) of_gpu() = nullptr;
  }
  Hook(const Hook&) = delete;
  Hook& operator=(const Hook&) = delete;

  void install() {
    previous_ = c10::GetAllocator(c10::DeviceType::CPU);
    c10::SetAllocator(c10::DeviceType::CPU, this);
  }
  Status install_on_gpu() {
    HEADROOM_CHECK(replace_gpu_allocator({
        [](std::size_t bytes) -> void* {
          Hook* hook = of_gpu();
          TORCH_CHECK(hook != nullptr, "the GPU's memory was asked for after the run");
          return bytes == 0 ? nullptr : hook->take(bytes);
        },
        [](void* address) { give_back(of_gpu(), address); },
    }));
    of_gpu() = this;
    return Done{};
  }

  // libtorch keeps the allocator of the processor in a registry of its own, and that of the GPU
  // behind functions that cannot be asked.
  static Hook* installed() {
    if (Hook* hook = of_gpu()) return hook;
    return dynamic_cast<Hook*>(c10::GetAllocator(c10::DeviceType::CPU));
  }

  // Not marked as overriding: which of the two does depends on PyTorch's version (2.3), as whether
  // copy_data() does.
  c10::DataPtr allocate(std::size_t bytes) const {
    return const_cast<Hook*>(this)->allocate(bytes);
  }
  c10::DataPtr allocate(std::size_t bytes) {
    if (bytes == 0) return {nullptr, c10::Device(c10::DeviceType::CPU)};
    void* data = take(bytes);
    return {data, data, &Hook::free_block, c10::Device(c10::DeviceType::CPU)};
  }
  void copy_data(void* to, const void* from, std::size_t bytes) const {
    std::memcpy(to, from, bytes);
  }

  // oneDNN takes its scratch by raw pointer, which works only if the context is the pointer itself.
  c10::DeleterFnPtr raw_deleter() const override { return &Hook::free_block; }

  Component swap_tag(Component tag) { return tag_.exchange(tag); }

  allocator::Usage usage() const {
    const MutexLock lock(mutex_);
    return policy_.usage();
  }
  ByComponent peak_by_component() const {
    const MutexLock lock(mutex_);
    return peak_;
  }
  std::uint64_t live_blocks() const {
    const MutexLock lock(mutex_);
    return live_.size();
  }
  ByComponent take_peak() {
    const MutexLock lock(mutex_);
    recent_peak_bytes_ = 0;
    return std::exchange(recent_peak_, policy_.usage().live);
  }
  std::optional<OutOfMemory> take_refused() {
    const MutexLock lock(mutex_);
    return std::exchange(refused_, std::nullopt);
  }

 private:
  static std::atomic<Hook*>& of_gpu() {
    static std::atomic<Hook*> hook = nullptr;
    return hook;
  }

  void* take(std::size_t bytes) {
    const MutexLock lock(mutex_);
    const Component tag = tag_;
    const allocator::Request request{.bytes = bytes, .tag = tag};
    const auto address = policy_.allocate(request);
    if (!address) {
      refused_ = explain_ ? explain_(request) : explain_by_usage(request);
      TORCH_CHECK_WITH(OutOfMemoryError, false, "no device memory for ", bytes, " bytes");
    }
    live_.insert(*address);
    note_peak(tag);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a policy's address is a pointer there.
    return reinterpret_cast<void*>(*address);
  }

  OutOfMemory explain_by_usage(const allocator::Request& request) const HEADROOM_REQUIRES(mutex_) {
    OutOfMemory problem;
    problem.request = request;
    problem.usage = policy_.usage();
    return problem;
  }

  // libtorch may free when we are gone, or when another hook has come (its own caches outlive a
  // TorchMemory): only what this hook handed out goes back to its policy.
  static void free_block(void* data) {
    give_back(dynamic_cast<Hook*>(c10::GetAllocator(c10::DeviceType::CPU)), data);
  }
  static void give_back(Hook* hook, void* data) {
    if (hook == nullptr) return;
    const MutexLock lock(hook->mutex_);
    const auto address = reinterpret_cast<allocator::Address>(data);
    if (hook->live_.erase(address) != 0) hook->policy_.free(address);
  }

  void note_peak(Component tag) HEADROOM_REQUIRES(mutex_) {
    const allocator::Usage& usage = policy_.usage();
    peak_[tag] = std::max(peak_[tag], usage.live[tag]);
    if (usage.live_bytes <= recent_peak_bytes_) return;
    recent_peak_bytes_ = usage.live_bytes;
    recent_peak_ = usage.live;
  }

  mutable Mutex mutex_;
  Policy& policy_ HEADROOM_GUARDED_BY(mutex_);
  ExplainRefusal explain_;
  c10::Allocator* previous_ = nullptr;
  std::atomic<Component> tag_{Component::other};
  ByComponent peak_ HEADROOM_GUARDED_BY(mutex_);
  std::uint64_t recent_peak_bytes_ HEADROOM_GUARDED_BY(mutex_) = 0;
  ByComponent recent_peak_ HEADROOM_GUARDED_BY(mutex_);
  std::unordered_set<allocator::Address> live_ HEADROOM_GUARDED_BY(mutex_);
  std::optional<OutOfMemory> refused_ HEADROOM_GUARDED_BY(mutex_);
};

TorchMemory::TorchMemory(Policy& policy, ExplainRefusal explain)
    : hook_(std::make_unique<Hook>(policy, std::move(explain))) {
  hook_->install();
}
TorchMemory::TorchMemory(std::unique_ptr<Hook> hook) : hook_(std::move(hook)) {}
TorchMemory::~TorchMemory() = default;

Result<std::unique_ptr<TorchMemory>> TorchMemory::on_gpu(Policy& policy, ExplainRefusal explain) {
  auto hook = std::make_unique<Hook>(policy, std::move(explain));
  HEADROOM_CHECK(hook->install_on_gpu());
  return std::unique_ptr<TorchMemory>(new TorchMemory(std::move(hook)));
}

allocator::Usage TorchMemory::usage() const {
  return hook_->usage();
}
ByComponent TorchMemory::peak_by_component() const {
  return hook_->peak_by_component();
}
std::uint64_t TorchMemory::live_blocks() const {
  return hook_->live_blocks();
}
ByComponent TorchMemory::take_peak() {
  return hook_->take_peak();
}
std::optional<OutOfMemory> TorchMemory::take_refused() {
  return hook_->take_refused();
}

TagScope::TagScope(Component tag) : previous_(tag) {
  if (auto* hook = TorchMemory::Hook::installed()) previous_ = hook->swap_tag(tag);
}
TagScope::~TagScope() {
  if (auto* hook = TorchMemory::Hook::installed()) hook->swap_tag(previous_);
}

}  // namespace headroom::trainer
