// SPDX-License-Identifier: Apache-2.0
#include "faces/hip/gpus.h"

#include <fmt/format.h>

#include <string>

#include "faces/messages.h"
#include "faces/settings.h"

namespace headroom::hip_face {
namespace {

Result<headroom_allocator*> open(int device) {
  HEADROOM_TRY(const faces::Settings settings, faces::parse_settings(faces::read_variable));
  if (!settings.budgets.empty())
    return Error{Errc::unsupported, "budgets are not supported for HIP programs",
                 "unset HEADROOM_ALLOCATOR_BUDGETS"};
  const std::string recording = faces::recording_path(settings, device);
  headroom_allocator_options options = faces::make_options(settings, recording);
  options.backend = HEADROOM_BACKEND_HIP;
  options.device = device;
  headroom_allocator* const made = headroom_allocator_create(&options);
  if (made == nullptr) return Error{Errc::unsupported, headroom_last_error(), ""};
  headroom_usage usage = HEADROOM_USAGE_INIT;
  if (settings.capacity_bytes != 0 && headroom_get_usage(made, &usage) == HEADROOM_OK &&
      settings.capacity_bytes < usage.capacity_bytes)
    static_cast<void>(headroom_set_capacity(made, settings.capacity_bytes));
  return made;
}

}  // namespace

headroom_allocator* Gpus::get(int device) const {
  if (!is_number(device)) return nullptr;
  return gpus_.at(static_cast<std::size_t>(device)).allocator.load(std::memory_order_acquire);
}

headroom_allocator* Gpus::ready(int device) {
  if (!is_number(device)) return nullptr;
  Gpu& gpu = gpus_.at(static_cast<std::size_t>(device));
  if (gpu.is_tried.load(std::memory_order_acquire)) return get(device);
  const MutexLock lock(mutex_);
  if (gpu.is_tried.load(std::memory_order_acquire)) return get(device);
  const auto opened = open(device);
  if (opened) gpu.allocator.store(*opened, std::memory_order_release);
  gpu.is_tried.store(true, std::memory_order_release);
  if (opened) return *opened;
  const auto& error = opened.error();
  faces::say(fmt::format("headroom: GPU {}: hipMalloc is the runtime's own: {}{}{}", device,
                         error.message, error.next.empty() ? "" : "; ", error.next));
  return nullptr;
}

void* Gpus::idle_stream(int device) const {
  if (!is_number(device)) return nullptr;
  return gpus_.at(static_cast<std::size_t>(device)).idle_stream.load(std::memory_order_acquire);
}

void* Gpus::ready_idle_stream(int device, void* (*make)()) {
  if (void* const made = idle_stream(device); made != nullptr || !is_number(device)) return made;
  const MutexLock lock(mutex_);
  auto& stream = gpus_.at(static_cast<std::size_t>(device)).idle_stream;
  if (stream.load(std::memory_order_acquire) == nullptr)
    stream.store(make(), std::memory_order_release);
  return stream.load(std::memory_order_acquire);
}

bool Gpus::use_pool(int device) {
  int expected = unused_pool;
  auto& pool = gpus_.at(static_cast<std::size_t>(device)).pool;
  return pool.compare_exchange_strong(expected, used_pool) || expected == used_pool;
}

bool Gpus::share_pool(int device) {
  if (!is_number(device)) return true;
  int expected = unused_pool;
  auto& pool = gpus_.at(static_cast<std::size_t>(device)).pool;
  return pool.compare_exchange_strong(expected, shared_pool) || expected == shared_pool;
}

void Gpus::reset(int device) {
  if (!is_number(device)) return;
  Gpu& gpu = gpus_.at(static_cast<std::size_t>(device));
  const MutexLock lock(mutex_);
  headroom_allocator_destroy(gpu.allocator.exchange(nullptr));
  gpu.idle_stream = nullptr;
  gpu.pool = unused_pool;
  gpu.is_tried = false;
}

}  // namespace headroom::hip_face
