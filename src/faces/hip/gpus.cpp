// SPDX-License-Identifier: Apache-2.0
#include "faces/hip/gpus.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "faces/settings.h"

namespace headroom::hip_face {
namespace {

const char* text_or_null(const std::string& text) {
  return text.empty() ? nullptr : text.c_str();
}

Result<headroom_allocator*> open(int device) {
  HEADROOM_TRY(const faces::Settings settings, faces::parse_settings(faces::read_variable));
  if (!settings.budgets.empty())
    return Error{Errc::unsupported, "budgets are not supported for HIP programs",
                 "unset HEADROOM_ALLOCATOR_BUDGETS"};
  headroom_allocator_options options = HEADROOM_ALLOCATOR_OPTIONS_INIT;
  options.backend = HEADROOM_BACKEND_HIP;
  options.device = device;
  options.virtual_memory = settings.virtual_memory;
  options.planning = settings.planning;
  options.self_test_path = settings.self_tests ? settings.self_tests->c_str() : nullptr;
  std::string recording = settings.recordings;
  if (!recording.empty()) recording += fmt::format("/{}-gpu{}.flight", ::getpid(), device);
  options.flight_recorder_path = text_or_null(recording);
  headroom_allocator* const made = headroom_allocator_create(&options);
  if (made == nullptr) return Error{Errc::unsupported, headroom_last_error(), ""};
  headroom_usage usage = HEADROOM_USAGE_INIT;
  if (settings.capacity_bytes != 0 && headroom_get_usage(made, &usage) == HEADROOM_OK &&
      settings.capacity_bytes < usage.capacity_bytes)
    static_cast<void>(headroom_set_capacity(made, settings.capacity_bytes));
  return made;
}

// One line, which a program's own output does not tear.
void say(const std::string& line) {
  static_cast<void>(::write(STDERR_FILENO, line.data(), line.size()) < 0);
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
  std::string line = fmt::format("headroom: GPU {}: hipMalloc is the runtime's own: {}{}{}", device,
                                 error.message, error.next.empty() ? "" : "; ", error.next);
  std::replace(line.begin(), line.end(), '\n', ' ');
  say(line + "\n");
  return nullptr;
}

}  // namespace headroom::hip_face
