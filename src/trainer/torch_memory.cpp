// SPDX-License-Identifier: Apache-2.0
#include "trainer/torch_memory.h"

#include <atomic>
#include <mutex>

#include <c10/core/Allocator.h>
#include <c10/util/Exception.h>

namespace headroom::trainer {

using allocator::ByComponent;
using allocator::Component;
using allocator::Policy;

class TorchMemory::Hook : public c10::Allocator {
 public:
  explicit Hook(Policy& policy)
      : policy_(policy), previous_(c10::GetAllocator(c10::DeviceType::CPU)) {
    c10::SetAllocator(c10::DeviceType::CPU, this);
  }
  ~Hook() override { c10::SetAllocator(c10::DeviceType::CPU, previous_); }
  Hook(const Hook&) = delete;
  Hook& operator=(const Hook&) = delete;

  // libtorch keeps the allocator in a registry of its own; asking it there leaves no global of ours.
  static Hook* installed() {
    return dynamic_cast<Hook*>(c10::GetAllocator(c10::DeviceType::CPU));
  }

  c10::DataPtr allocate(std::size_t bytes) const override {
    if (bytes == 0) return {nullptr, c10::Device(c10::DeviceType::CPU)};
    return const_cast<Hook*>(this)->allocate_block(bytes);
  }

  Component swap_tag(Component tag) { return tag_.exchange(tag); }

  static void retag_block(const c10::DataPtr& data, Component tag) {
    auto* block = data.cast_context<Block>(&Hook::free_block);
    if (block == nullptr) return;
    const std::lock_guard lock(block->owner.mutex_);
    block->owner.policy_.retag(block->address, tag);
    block->owner.note_peak(tag);
  }

  allocator::Usage usage() const {
    const std::lock_guard lock(mutex_);
    return policy_.usage();
  }
  ByComponent peak_by_component() const {
    const std::lock_guard lock(mutex_);
    return peak_;
  }
  std::uint64_t live_blocks() const {
    const std::lock_guard lock(mutex_);
    return live_blocks_;
  }
  std::optional<RefusedRequest> take_refused() {
    const std::lock_guard lock(mutex_);
    return std::exchange(refused_, std::nullopt);
  }

 private:
  // What a tensor's storage hands back to us when it dies.
  struct Block {
    Hook& owner;
    allocator::Address address;
  };

  c10::DataPtr allocate_block(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const Component tag = tag_;
    const auto address = policy_.allocate({.bytes = bytes, .tag = tag});
    if (!address) {
      refused_ = RefusedRequest{bytes, tag, policy_.usage()};
      TORCH_CHECK_WITH(OutOfMemoryError, false, "no device memory for ", bytes, " bytes");
    }
    auto block = std::make_unique<Block>(Block{*this, *address});
    ++live_blocks_;
    note_peak(tag);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a host policy's address is a pointer.
    return {reinterpret_cast<void*>(*address), block.release(), &Hook::free_block,
            c10::Device(c10::DeviceType::CPU)};
  }

  static void free_block(void* context) {
    const std::unique_ptr<Block> block(static_cast<Block*>(context));
    const std::lock_guard lock(block->owner.mutex_);
    block->owner.policy_.free(block->address);
    --block->owner.live_blocks_;
  }

  void note_peak(Component tag) { peak_[tag] = std::max(peak_[tag], policy_.usage().live[tag]); }

  Policy& policy_;
  c10::Allocator* previous_;
  std::atomic<Component> tag_{Component::other};
  mutable std::mutex mutex_;  // Guards the policy and what follows.
  ByComponent peak_;
  std::uint64_t live_blocks_ = 0;
  std::optional<RefusedRequest> refused_;
};

TorchMemory::TorchMemory(Policy& policy) : hook_(std::make_unique<Hook>(policy)) {}
TorchMemory::~TorchMemory() = default;

allocator::Usage TorchMemory::usage() const {
  return hook_->usage();
}
ByComponent TorchMemory::peak_by_component() const {
  return hook_->peak_by_component();
}
std::uint64_t TorchMemory::live_blocks() const {
  return hook_->live_blocks();
}
std::optional<RefusedRequest> TorchMemory::take_refused() {
  return hook_->take_refused();
}

TagScope::TagScope(Component tag) : previous_(tag) {
  if (auto* hook = TorchMemory::Hook::installed()) previous_ = hook->swap_tag(tag);
}
TagScope::~TagScope() {
  if (auto* hook = TorchMemory::Hook::installed()) hook->swap_tag(previous_);
}

void retag(const at::Tensor& tensor, Component tag) {
  TorchMemory::Hook::retag_block(tensor.storage().data_ptr(), tag);
}

}  // namespace headroom::trainer
