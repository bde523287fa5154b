// SPDX-License-Identifier: Apache-2.0
// The functions of headroom_onnx.h. The provider's callbacks do not say which GPU they are for, so
// each GPU has functions of its own.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <utility>

#include "faces/onnx/gpu_memory.h"
#include "faces/onnx/headroom_onnx.h"
#include "faces/onnx/host_memory.h"
#include "faces/settings.h"

namespace headroom::onnx_face {
namespace {

constexpr std::size_t max_gpus = 16;
constexpr int processor = -1;

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

// What is never destroyed either.
HostMemory& host_memory() {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
  static auto* const memory = new HostMemory;
  return *memory;
}

std::atomic<const OrtApiBase*>& api_base() {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
  static std::atomic<const OrtApiBase*> base = nullptr;
  return base;
}

std::string sentence(const Error& error) {
  return error.next.empty() ? error.message : error.message + "; " + error.next;
}

void copy_out(const std::string& from, char* text, std::size_t text_size) {
  if (text == nullptr || text_size == 0) return;
  const std::size_t length = std::min(from.size(), text_size - 1);
  std::memcpy(text, from.data(), length);
  text[length] = '\0';
}

Result<int> find_what_is_asked_for() {
  HEADROOM_TRY(const faces::Settings settings, faces::parse_settings(faces::read_variable));
  if (settings.virtual_memory == HEADROOM_VIRTUAL_MEMORY_REQUIRED)
    return Error{Errc::unsupported, "virtual memory is not used for ONNX Runtime",
                 "unset HEADROOM_ALLOCATOR_VIRTUAL_MEMORY"};
  switch (settings.backend.value_or(HEADROOM_BACKEND_HIP)) {
    case HEADROOM_BACKEND_HIP:
      return HEADROOM_ONNX_GPU;
    case HEADROOM_BACKEND_HOST:
      return HEADROOM_ONNX_CPU;
    default:
      return Error{Errc::unsupported,
                   "expected hip or host in HEADROOM_ALLOCATOR_BACKEND, found another backend",
                   "unset HEADROOM_ALLOCATOR_BACKEND"};
  }
}

Status register_cpu() {
  const OrtApiBase* const base = api_base().load(std::memory_order_acquire);
  if (base == nullptr)
    return Error{Errc::invalid, "expected ONNX Runtime to have told its interface, found none", ""};
  return host_memory().register_with(*base);
}

const Counts& counts_of(int device) {
  return device < 0 ? host_memory().counts : memory_of(static_cast<std::size_t>(device)).counts;
}

}  // namespace
}  // namespace headroom::onnx_face

using namespace headroom::onnx_face;  // NOLINT(google-build-using-namespace)

uint32_t headroom_onnx_abi() {
  return HEADROOM_ONNX_ABI;
}

int headroom_onnx_check(char* text, size_t text_size) {
  const auto asked = find_what_is_asked_for();
  copy_out(asked ? "" : sentence(asked.error()), text, text_size);
  return asked.value_or(0);
}

int headroom_onnx_register_cpu(char* text, size_t text_size) {
  const headroom::Status registered = register_cpu();
  copy_out(registered ? "" : sentence(registered.error()), text, text_size);
  return registered ? 1 : 0;
}

// NOLINTNEXTLINE(readability-function-size): ONNX Runtime calls it so.
void* CreateEpFactories(const char* /*name*/, const void* base, const void* /*logger*/,
                        void** /*factories*/, size_t /*max_factories*/, size_t* count) {
  api_base().store(static_cast<const OrtApiBase*>(base), std::memory_order_release);
  *count = 0;
  return nullptr;
}

void* ReleaseEpFactory(void* /*factory*/) {
  return nullptr;
}

headroom_result headroom_onnx_get_callbacks(int device, HeadroomOnnxCallbacks* callbacks) {
  if (!is_number(device) || callbacks == nullptr || callbacks->size != sizeof *callbacks)
    return HEADROOM_INVALID;
  *callbacks = callbacks_of(static_cast<std::size_t>(device), std::make_index_sequence<max_gpus>());
  return HEADROOM_OK;
}

headroom_allocator* headroom_onnx_allocator(int device) {
  if (device == processor) return host_memory().get();
  return is_number(device) ? memory_of(static_cast<std::size_t>(device)).get() : nullptr;
}

headroom_result headroom_onnx_get_counts(int device, HeadroomOnnxCounts* counts) {
  const bool is_known = device == processor || is_number(device);
  if (!is_known || counts == nullptr || counts->size != sizeof *counts) return HEADROOM_INVALID;
  const Counts& from = counts_of(device);
  *counts = {sizeof *counts,     from.allocations,   from.frees,
             from.out_of_memory, from.foreign_frees, from.waits};
  return HEADROOM_OK;
}
