// SPDX-License-Identifier: Apache-2.0
#include "faces/torch/gpu_allocators.h"

#include <algorithm>

#include "faces/gpu_runtime.h"
#include "faces/settings.h"

namespace headroom::torch_face {
namespace {

Error last_error() {
  const bool memory = headroom_last_result() == HEADROOM_OUT_OF_MEMORY;
  return {memory ? Errc::out_of_memory : Errc::unsupported, headroom_last_error(), ""};
}

std::uint64_t capacity_of(headroom_allocator* allocator) {
  headroom_usage usage = HEADROOM_USAGE_INIT;
  return headroom_get_usage(allocator, &usage) == HEADROOM_OK ? usage.capacity_bytes : 0;
}

}  // namespace

Result<headroom_allocator*> GpuAllocator::make(int device) {
  const MutexLock lock(mutex_);
  if (headroom_allocator* const made = get(); made != nullptr) return made;
  HEADROOM_TRY(const faces::Settings settings, faces::parse_settings(faces::read_variable));
  const auto loaded = faces::find_loaded_backend();
  if (!settings.backend && !loaded) return loaded.error();
  const std::string recording = faces::recording_path(settings, device);
  headroom_allocator_options options = faces::make_options(settings, recording);
  options.backend = settings.backend ? *settings.backend : *loaded;
  options.device = options.backend == HEADROOM_BACKEND_HOST ? 0 : device;
  options.gpu_target = faces::text_or_null(target_);
  // A GPU tells all that it has; what the settings allow of it is taken from that.
  if (options.backend == HEADROOM_BACKEND_HOST) options.capacity_bytes = settings.capacity_bytes;
  std::string budget = settings.budgets;
  if (!budget.empty()) {
    HEADROOM_TRY(const std::string card, faces::find_pci_address(options.backend, device));
    budget += "/" + card + ".budget";
  }
  options.budget_path = faces::text_or_null(budget);
  options.budget_share_bytes = settings.share_bytes;
  headroom_allocator* const made = headroom_allocator_create(&options);
  if (made == nullptr) return last_error();
  is_hip_ = options.backend == HEADROOM_BACKEND_HIP;
  total_bytes_ = capacity_of(made);
  most_bytes_ = settings.capacity_bytes != 0 ? settings.capacity_bytes : total_bytes_;
  apply_capacity(made);
  made_.store(made, std::memory_order_release);
  return made;
}

void GpuAllocator::apply_capacity(headroom_allocator* allocator) {
  auto bytes = std::min(most_bytes_, total_bytes_);
  if (fraction_) {
    const double share = std::clamp(*fraction_, 0.0, 1.0) * static_cast<double>(total_bytes_);
    bytes = std::min(bytes, static_cast<std::uint64_t>(share));
  }
  if (bytes != capacity_of(allocator)) static_cast<void>(headroom_set_capacity(allocator, bytes));
}

void GpuAllocator::set_target(const char* target) {
  const MutexLock lock(mutex_);
  target_ = target == nullptr ? "" : target;
}

void GpuAllocator::set_fraction(double fraction) {
  const MutexLock lock(mutex_);
  fraction_ = fraction;
  if (get() != nullptr) apply_capacity(get());
}

std::string GpuAllocator::runtime_name() const {
  return is_hip_ ? "HIP" : "CUDA";
}

}  // namespace headroom::torch_face
