// SPDX-License-Identifier: Apache-2.0
// The slots of PyTorch's pluggable allocator.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "faces/gpu_runtime.h"
#include "faces/messages.h"
#include "faces/settings.h"
#include "faces/torch/gpu_allocators.h"
#include "faces/torch/headroom_torch.h"
#include "faces/torch/torch_errors.h"

namespace headroom::torch_face {
namespace {

// PyTorch's slots have no place for an object of ours, and it frees blocks from destructors of its
// own statics: the one object of the process, which is never destroyed.
GpuAllocators& gpus() {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
  static auto* const all = new GpuAllocators;
  return *all;
}

// What PyTorch's memory is used for is known to PyTorch alone.
constexpr headroom_tag tag = {HEADROOM_OTHER, 0};

[[noreturn]] void fail(GpuAllocator& gpu, int device, std::uint64_t bytes, headroom_stream stream) {
  if (headroom_last_result() != HEADROOM_OUT_OF_MEMORY)
    throw std::runtime_error(std::string("headroom: ") + headroom_last_error());
  gpu.counts.out_of_memory.fetch_add(1, std::memory_order_relaxed);
  throw_out_of_memory(faces::out_of_memory_message(gpu.runtime_name(), bytes, device,
                                                   faces::explain(gpu.get(), bytes, stream)));
}

void* allocate(std::uint64_t bytes, int device, headroom_stream stream) {
  GpuAllocator* const gpu = gpus().find(device);
  if (gpu == nullptr)
    throw std::runtime_error(fmt::format("headroom: expected a GPU's number, found {}", device));
  const auto allocator = gpu->ready(device);
  if (!allocator) {
    const auto& error = allocator.error();
    const std::string text = fmt::format("headroom: GPU {}: {}", device, error.message);
    if (error.code == Errc::out_of_memory)
      throw_out_of_memory(faces::out_of_memory_message(gpu->runtime_name(), bytes, device, text));
    throw std::runtime_error(error.next.empty() ? text : text + "; " + error.next);
  }
  gpu->captures.note(*allocator, stream);
  void* block = headroom_allocate(*allocator, bytes, stream, tag);
  if (block == nullptr && headroom_last_result() == HEADROOM_OUT_OF_MEMORY &&
      gpu->reserve.spend(*allocator))
    block = headroom_allocate(*allocator, bytes, stream, tag);
  if (block == nullptr) fail(*gpu, device, bytes, stream);
  gpu->counts.allocations.fetch_add(1, std::memory_order_relaxed);
  gpu->counts.allocated_bytes.fetch_add(bytes, std::memory_order_relaxed);
  return block;
}

void release(void* block, std::uint64_t bytes, int device, headroom_stream stream) {
  GpuAllocator* const gpu = gpus().find(device);
  if (gpu == nullptr || block == nullptr) return;
  if (gpu->get() == nullptr || headroom_free(gpu->get(), block, stream) != HEADROOM_OK) {
    gpu->counts.foreign_frees.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  gpu->counts.frees.fetch_add(1, std::memory_order_relaxed);
  gpu->counts.freed_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

std::size_t copy_out(const std::string& text, char* to, std::size_t size) {
  if (to == nullptr || size == 0) return text.size();
  const std::size_t length = std::min(text.size(), size - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
  return text.size();
}

Status check_settings() {
  HEADROOM_TRY(const faces::Settings settings, faces::parse_settings(faces::read_variable));
  if (!settings.backend) HEADROOM_CHECK(faces::find_loaded_backend());
  return Done{};
}

}  // namespace
}  // namespace headroom::torch_face

using namespace headroom::torch_face;  // NOLINT(google-build-using-namespace)

void* headroom_torch_malloc(size_t bytes, int device, headroom_stream stream) {
  return allocate(bytes, device, stream);
}

void headroom_torch_free(void* block, size_t bytes, int device, headroom_stream stream) {
  release(block, bytes, device, stream);
}

// A GPU is opened when its first block is asked for, so there is nothing to do.
void headroom_torch_init(int /*device_count*/) {}

void headroom_torch_reset() {
  gpus().find_owner([](headroom_allocator* allocator) {
    static_cast<void>(headroom_trim(allocator, nullptr));
    return false;
  });
}

void headroom_torch_memory_fraction(double fraction, int device) {
  if (GpuAllocator* const gpu = gpus().find(device); gpu != nullptr) gpu->set_fraction(fraction);
}

void* headroom_torch_base_alloc(void* pointer, size_t* bytes) {
  headroom_block block = HEADROOM_BLOCK_INIT;
  block.base = pointer;
  gpus().find_owner([&](headroom_allocator* allocator) {
    if (headroom_find_block(allocator, pointer, &block) != HEADROOM_OK) return false;
    if (bytes != nullptr) *bytes = block.bytes;
    return true;
  });
  return block.base;
}

void headroom_torch_record_stream(void* block, headroom_stream stream) {
  gpus().find_owner([&](headroom_allocator* allocator) {
    return headroom_record_stream(allocator, block, stream) == HEADROOM_OK;
  });
}

void headroom_torch_begin_allocate_to_pool(int device, PoolKey pool, StreamFilter filter) {
  GpuAllocator* const gpu = gpus().find(device);
  if (gpu != nullptr) gpu->captures.begin(pool, std::move(filter));
}

void headroom_torch_end_allocate_to_pool(int device, PoolKey pool) {
  if (GpuAllocator* const gpu = gpus().find(device)) gpu->captures.end(gpu->get(), pool);
}

void headroom_torch_release_pool(int device, PoolKey pool) {
  if (GpuAllocator* const gpu = gpus().find(device)) gpu->captures.release(gpu->get(), pool);
}

uint32_t headroom_torch_abi() {
  return HEADROOM_TORCH_ABI;
}

int headroom_torch_check(char* text, size_t text_size) {
  const headroom::Status checked = check_settings();
  const auto sentence = [](const headroom::Error& error) {
    return error.next.empty() ? error.message : error.message + "; " + error.next;
  };
  static_cast<void>(copy_out(checked ? "" : sentence(checked.error()), text, text_size));
  return checked ? 1 : 0;
}

headroom_allocator* headroom_torch_allocator(int device) {
  const GpuAllocator* const gpu = gpus().find(device);
  return gpu == nullptr ? nullptr : gpu->get();
}

void headroom_torch_set_gpu_target(int device, const char* target) {
  if (GpuAllocator* const gpu = gpus().find(device)) gpu->set_target(target);
}

headroom_result headroom_torch_get_counts(int device, HeadroomTorchCounts* counts) {
  const GpuAllocator* const gpu = gpus().find(device);
  if (gpu == nullptr || counts == nullptr || counts->size != sizeof *counts)
    return HEADROOM_INVALID;
  const Counts& from = gpu->counts;
  *counts = {sizeof *counts,   from.allocations,   from.frees,         from.allocated_bytes,
             from.freed_bytes, from.out_of_memory, from.foreign_frees, gpu->reserve.bytes()};
  return HEADROOM_OK;
}

uint64_t headroom_torch_keep_reserve(int device, uint64_t bytes) {
  GpuAllocator* const gpu = gpus().find(device);
  if (gpu == nullptr || gpu->get() == nullptr) return 0;
  return gpu->reserve.keep(gpu->get(), bytes);
}

void headroom_torch_open_reserve(int device) {
  if (GpuAllocator* const gpu = gpus().find(device)) gpu->reserve.open();
}
