// SPDX-License-Identifier: Apache-2.0
// The functions of headroom_onnx.h. The provider's callbacks do not say which GPU they are for, so
// each GPU has functions of its own.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "faces/onnx/gpu_memory.h"
#include "faces/onnx/headroom_onnx.h"
#include "faces/settings.h"

namespace headroom::onnx_face {
namespace {

constexpr std::size_t max_gpus = 16;

// The callbacks have no place for an object of ours, and ONNX Runtime frees blocks from destructors
// of Python's last objects: the one object of the process, which is never destroyed.
GpuMemory& memory_of(std::size_t device) {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
  static auto* const all = new std::array<GpuMemory, max_gpus>;
  return all->at(device);
}

template <std::size_t device>
void* allocate(std::size_t bytes) {
  return memory_of(device).allocate(static_cast<int>(device), bytes);
}

template <std::size_t device>
void release(void* block) noexcept {
  memory_of(device).release(block);
}

template <std::size_t device>
void empty_cache() noexcept {
  memory_of(device).trim(static_cast<int>(device));
}

template <std::size_t... devices>
HeadroomOnnxCallbacks callbacks_of(std::size_t device, std::index_sequence<devices...>) {
  const std::array<HeadroomOnnxCallbacks, max_gpus> all = {
      {{sizeof(HeadroomOnnxCallbacks), reinterpret_cast<void*>(&allocate<devices>),
        reinterpret_cast<void*>(&release<devices>),
        reinterpret_cast<void*>(&empty_cache<devices>)}...}};
  return all.at(device);
}

bool is_number(int device) {
  return device >= 0 && static_cast<std::size_t>(device) < max_gpus;
}

std::string find_obstacle() {
  const auto settings = faces::parse_settings(faces::read_variable);
  if (!settings) {
    const auto& error = settings.error();
    return error.next.empty() ? error.message : error.message + "; " + error.next;
  }
  if (settings->backend.value_or(HEADROOM_BACKEND_HIP) != HEADROOM_BACKEND_HIP)
    return "expected hip in HEADROOM_ALLOCATOR_BACKEND, found another backend; unset it";
  if (settings->virtual_memory == HEADROOM_VIRTUAL_MEMORY_REQUIRED)
    return "HEADROOM_ALLOCATOR_VIRTUAL_MEMORY asks for virtual memory, which is not used here";
  return "";
}

}  // namespace
}  // namespace headroom::onnx_face

using namespace headroom::onnx_face;  // NOLINT(google-build-using-namespace)

uint32_t headroom_onnx_abi() {
  return HEADROOM_ONNX_ABI;
}

int headroom_onnx_check(char* text, size_t text_size) {
  const std::string obstacle = find_obstacle();
  if (text != nullptr && text_size > 0) {
    const std::size_t length = std::min(obstacle.size(), text_size - 1);
    std::memcpy(text, obstacle.data(), length);
    text[length] = '\0';
  }
  return obstacle.empty() ? 1 : 0;
}

headroom_result headroom_onnx_get_callbacks(int device, HeadroomOnnxCallbacks* callbacks) {
  if (!is_number(device) || callbacks == nullptr || callbacks->size != sizeof *callbacks)
    return HEADROOM_INVALID;
  *callbacks = callbacks_of(static_cast<std::size_t>(device), std::make_index_sequence<max_gpus>());
  return HEADROOM_OK;
}

headroom_allocator* headroom_onnx_allocator(int device) {
  return is_number(device) ? memory_of(static_cast<std::size_t>(device)).get() : nullptr;
}

headroom_result headroom_onnx_get_counts(int device, HeadroomOnnxCounts* counts) {
  if (!is_number(device) || counts == nullptr || counts->size != sizeof *counts)
    return HEADROOM_INVALID;
  const Counts& from = memory_of(static_cast<std::size_t>(device)).counts;
  *counts = {sizeof *counts,     from.allocations,   from.frees,
             from.out_of_memory, from.foreign_frees, from.waits};
  return HEADROOM_OK;
}
