// SPDX-License-Identifier: Apache-2.0
#include "faces/onnx/gpu_memory.h"

#include <fmt/format.h>

#include "faces/gpu_runtime.h"
#include "faces/messages.h"
#include "faces/settings.h"

namespace headroom::onnx_face {
namespace {

constexpr int hip_success = 0;

// ONNX Runtime's memory is used for what it alone knows, on streams that it alone knows.
constexpr headroom_tag tag = {HEADROOM_OTHER, 0};
constexpr headroom_stream stream = nullptr;

template <class Function>
Function* hip(const char* name) {
  return reinterpret_cast<Function*>(faces::find_in_hip(name));
}

// Waits for all that the GPU was given so far, by anybody. The thread's device stays what it was.
bool wait_for(int device) {
  auto* const get_device = hip<int(int*)>("hipGetDevice");
  auto* const set_device = hip<int(int)>("hipSetDevice");
  auto* const synchronize = hip<int()>("hipDeviceSynchronize");
  int before = 0;
  if (get_device == nullptr || set_device == nullptr || synchronize == nullptr ||
      get_device(&before) != hip_success || set_device(device) != hip_success)
    return false;
  const bool waited = synchronize() == hip_success;
  return set_device(before) == hip_success && waited;
}

Result<headroom_allocator*> open(int device) {
  HEADROOM_TRY(const faces::Settings settings, faces::parse_settings(faces::read_variable));
  std::string recording = faces::recording_path(settings, device);
  // PyTorch's allocator in the same process has the other name.
  if (!recording.empty()) recording.insert(recording.rfind('-'), "-onnx");
  headroom_allocator_options options = faces::make_options(settings, recording);
  options.backend = HEADROOM_BACKEND_HIP;
  options.device = device;
  std::string budget = settings.budgets;
  if (!budget.empty()) {
    HEADROOM_TRY(const std::string card, faces::find_pci_address(options.backend, device));
    budget += "/" + card + ".budget";
  }
  options.budget_path = faces::text_or_null(budget);
  options.budget_share_bytes = settings.share_bytes;
  headroom_allocator* const made = headroom_allocator_create(&options);
  if (made == nullptr) return Error{Errc::unsupported, headroom_last_error(), ""};
  headroom_usage usage = HEADROOM_USAGE_INIT;
  if (settings.capacity_bytes != 0 && headroom_get_usage(made, &usage) == HEADROOM_OK &&
      settings.capacity_bytes < usage.capacity_bytes)
    static_cast<void>(headroom_set_capacity(made, settings.capacity_bytes));
  return made;
}

}  // namespace

Result<headroom_allocator*> GpuMemory::ready(int device) {
  if (headroom_allocator* const made = get(); made != nullptr) return made;
  HEADROOM_TRY(headroom_allocator* const made, open(device));
  made_.store(made, std::memory_order_release);
  return made;
}

bool GpuMemory::would_grow(headroom_allocator* allocator, std::uint64_t bytes) const {
  headroom_usage usage = HEADROOM_USAGE_INIT;
  return headroom_get_usage(allocator, &usage) == HEADROOM_OK &&
         usage.live_bytes + bytes > usage.reserved_bytes;
}

void GpuMemory::reuse(int device) {
  if (given_back_.empty() || !wait_for(device)) return;
  counts.waits.fetch_add(1, std::memory_order_relaxed);
  for (void* const block : given_back_) static_cast<void>(headroom_free(get(), block, stream));
  given_back_.clear();
}

void* GpuMemory::allocate(int device, std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  const auto allocator = ready(device);
  if (!allocator) {
    const auto& error = allocator.error();
    throw Refused(fmt::format("headroom: GPU {}: {}{}{}", device, error.message,
                              error.next.empty() ? "" : "; ", error.next));
  }
  if (would_grow(*allocator, bytes)) reuse(device);
  void* block = headroom_allocate(*allocator, bytes, stream, tag);
  if (block == nullptr && !given_back_.empty()) {
    reuse(device);
    block = headroom_allocate(*allocator, bytes, stream, tag);
  }
  if (block == nullptr) {
    if (headroom_last_result() != HEADROOM_OUT_OF_MEMORY)
      throw Refused(std::string("headroom: ") + headroom_last_error());
    counts.out_of_memory.fetch_add(1, std::memory_order_relaxed);
    throw Refused(faces::out_of_memory_message("HIP", bytes, device,
                                               faces::explain(*allocator, bytes, stream)));
  }
  counts.allocations.fetch_add(1, std::memory_order_relaxed);
  return block;
}

void GpuMemory::release(void* block) noexcept {
  if (block == nullptr) return;
  const MutexLock lock(mutex_);
  headroom_block found = HEADROOM_BLOCK_INIT;
  const bool is_ours = get() != nullptr &&
                       headroom_find_block(get(), block, &found) == HEADROOM_OK &&
                       found.base == block && given_back_.insert(block).second;
  auto& count = is_ours ? counts.frees : counts.foreign_frees;
  count.fetch_add(1, std::memory_order_relaxed);
}

void GpuMemory::trim(int device) noexcept {
  const MutexLock lock(mutex_);
  if (get() == nullptr) return;
  reuse(device);
  static_cast<void>(headroom_trim(get(), nullptr));
}

}  // namespace headroom::onnx_face
