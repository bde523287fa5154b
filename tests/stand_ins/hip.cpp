// SPDX-License-Identifier: Apache-2.0
// A stand-in for libamdhip64: the functions that headroom calls, on fake GPUs.
#include "stand_ins/hip.h"

#include "allocator/backends/hip_api.h"

using namespace headroom;
using namespace headroom::stand_ins;
using Hip = allocator::HipApi;

namespace {

// hipEventBlockingSync, hipEventDisableTiming and hipEventInterprocess.
constexpr unsigned known_event_flags = 7;

bool is_this_device(const Hip::Location& location) {
  return location.type == Hip::device_location && location.id == thread_state().device;
}

}  // namespace

extern "C" {

// What no driver has: what was asked of the fake so far (count_of()).
std::uint64_t fake_gpu_count(int device, const char* what) {
  return count_of(gpu_of(device), what);
}

int hipThreadExchangeStreamCaptureMode(int* mode) {
  std::swap(*mode, thread_state().capture_mode);
  return success;
}

int hipMemAddressReserve(void** out, std::size_t bytes, std::size_t alignment, void* hint,
                         unsigned long long flags) {
  if (hint != nullptr || flags != 0) return noted(invalid_value);
  return noted(on_device(true, out, [&](auto& gpu) { return gpu.reserve(bytes, alignment); }));
}
int hipMemAddressFree(void* address, std::size_t bytes) {
  return noted(on_device(true, [&](auto& gpu) { return gpu.free_range(number(address), bytes); }));
}
int hipMemCreate(void** out, std::size_t bytes, const Hip::PageProperties* wanted,
                 unsigned long long flags) {
  if (wanted->type != Hip::pinned || wanted->handle_type != 0 ||
      !is_this_device(wanted->location) || flags != 0)
    return noted(invalid_value);
  return noted(on_device(true, out, [&](auto& gpu) { return gpu.create_pages(bytes); }));
}
int hipMemRelease(void* page) {
  return noted(on_device(true, [&](auto& gpu) { return gpu.destroy_pages(number(page)); }));
}
int hipMemMap(void* address, std::size_t bytes, std::size_t offset, void* page,
              unsigned long long flags) {
  if (offset != 0 || flags != 0) return noted(invalid_value);
  return noted(
      on_device(true, [&](auto& gpu) { return gpu.map(number(address), bytes, number(page)); }));
}
int hipMemSetAccess(void* address, std::size_t bytes, const Hip::Access* access,
                    std::size_t count) {
  if (count != 1 || !is_this_device(access->location) || access->flags != Hip::read_write)
    return noted(invalid_value);
  return noted(on_device(true, [&](auto& gpu) { return gpu.set_access(number(address), bytes); }));
}
int hipMemUnmap(void* address, std::size_t bytes) {
  return noted(on_device(true, [&](auto& gpu) { return gpu.unmap(number(address), bytes); }));
}
int hipMemGetAllocationGranularity(std::size_t* bytes, const Hip::PageProperties* /*wanted*/,
                                   int /*option*/) {
  *bytes = 4096;
  return success;
}

int hipMemcpyHtoD(void* to, void* from, std::size_t bytes) {
  return noted(
      on_device(true, [&](auto& gpu) { return gpu.copy_now(number(to), number(from), bytes); }));
}
int hipMemcpyDtoH(void* to, void* from, std::size_t bytes) {
  return noted(
      on_device(true, [&](auto& gpu) { return gpu.copy_now(number(to), number(from), bytes); }));
}
int hipMemcpyDtoD(void* to, void* from, std::size_t bytes) {
  return noted(
      on_device(true, [&](auto& gpu) { return gpu.copy(0, number(to), number(from), bytes); }));
}
int hipMemsetD32(void* to, int word, std::size_t count) {
  return noted(on_device(true, [&](auto& gpu) {
    return gpu.fill(0, number(to), count * 4, static_cast<std::uint32_t>(word), 4);
  }));
}

int hipDeviceSynchronize() {
  return noted(on_device(true, [&](auto& gpu) { return gpu.wait_for_device(); }));
}
int hipStreamSynchronize(void* stream) {
  return noted(
      on_device_of(stream, [&](auto& gpu) { return gpu.wait_for_stream(number(stream)); }));
}
int hipEventCreateWithFlags(void** out, unsigned flags) {
  if ((flags & ~known_event_flags) != 0) return noted(invalid_value);
  return noted(on_device(false, out, [&](auto& gpu) { return gpu.create_event(); }));
}
int hipEventRecord(void* event, void* stream) {
  return noted(on_device_of(
      event, [&](auto& gpu) { return gpu.record_event(number(event), number(stream)); }));
}
int hipEventQuery(void* event) {
  if (is_unsafe_now()) return noted(capture_unsupported);
  bool passed = false;
  const int code = on_device_of(event, [&](auto& gpu) {
    auto result = gpu.event_passed(number(event));
    passed = result.value_or(false);
    return result;
  });
  return noted(code == success && !passed ? not_ready : code);
}
int hipEventDestroy(void* event) {
  return noted(on_device_of(event, [&](auto& gpu) { return gpu.destroy_event(number(event)); }));
}

}  // extern "C"
