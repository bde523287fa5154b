// SPDX-License-Identifier: Apache-2.0
// The stand-in for libamdhip64, as programs use it: streams, work on them, functions by name.
#include <dlfcn.h>

#include "stand_ins/stand_in.h"

using namespace headroom::stand_ins;

namespace {

constexpr unsigned non_blocking = 1;  // hipStreamNonBlocking

}  // namespace

extern "C" {

int hipStreamCreateWithFlags(void** out, unsigned flags) {
  return on_device(false, out,
                   [&](auto& gpu) { return gpu.create_stream((flags & non_blocking) == 0); });
}
int hipStreamCreate(void** out) {
  return hipStreamCreateWithFlags(out, 0);
}
int hipStreamDestroy(void* stream) {
  return on_device_of(stream, [&](auto& gpu) { return gpu.destroy_stream(number(stream)); });
}
// The kind says nothing that the addresses do not say.
int hipMemcpyAsync(void* to, const void* from, std::size_t bytes, int /*kind*/, void* stream) {
  return on_device_of(
      stream, [&](auto& gpu) { return gpu.copy(number(stream), number(to), number(from), bytes); });
}
int hipMemcpy(void* to, const void* from, std::size_t bytes, int /*kind*/) {
  return on_device(true, [&](auto& gpu) { return gpu.copy_now(number(to), number(from), bytes); });
}
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream) {
  return on_device_of(stream, [&](auto& gpu) {
    return gpu.fill(number(stream), number(to), bytes, static_cast<std::uint32_t>(value), 1);
  });
}

// Without a pool: what is freed on a stream goes when its work is done, which is waited for.
int hipMallocAsync(void** out, std::size_t bytes, void* /*stream*/) {
  return on_device(true, out, [&](auto& gpu) { return gpu.allocate(bytes); });
}
int hipFreeAsync(void* address, void* stream) {
  return on_device_of(stream, [&](auto& gpu) -> headroom::Status {
    HEADROOM_CHECK(gpu.wait_for_stream(number(stream)));
    return gpu.release(number(address));
  });
}

int hipGetProcAddress(const char* name, void** out, int /*version*/, std::uint64_t /*flags*/,
                      int* /*status*/) {
  Dl_info own{};
  ::dladdr(reinterpret_cast<void*>(&hipStreamCreate), &own);
  *out = ::dlsym(::dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD), name);
  return *out == nullptr ? invalid_value : success;
}

}  // extern "C"
