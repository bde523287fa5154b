// SPDX-License-Identifier: Apache-2.0
#include "faces/hip/host_route.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "faces/hip/process.h"
#include "faces/messages.h"
#include "faces/settings.h"

namespace headroom::hip_face {
namespace {

constexpr int integrated = 16;             // hipDeviceAttributeIntegrated
constexpr unsigned coherent = 0x40000000;  // hipHostMallocCoherent

bool is_integrated(const Runtime& runtime, int device) {
  int value = 0;
  return runtime.device_attribute != nullptr && runtime.allocate_host != nullptr &&
         runtime.device_attribute(&value, integrated, device) == success && value != 0;
}

}  // namespace

void HostRoute::ready(const Runtime& runtime, int device) {
  OfGpu& gpu = gpus_.at(static_cast<std::size_t>(device));
  if (gpu.is_tried.load(std::memory_order_acquire) || gpu.is_tried.exchange(true)) return;
  const auto settings = faces::parse_settings(faces::read_variable);
  if (!settings || settings->host_bytes == 0) return;  // Opening the allocator says what is wrong.
  if (!is_integrated(runtime, device)) {
    faces::say(fmt::format(
        "headroom: GPU {}: expected an APU for HEADROOM_ALLOCATOR_HOST, found a GPU with "
        "memory of its own, which would read the machine's over its bus; unset it",
        device));
    return;
  }
  faces::say(
      fmt::format("headroom: GPU {}: what its pool has no room for gets up to {} of the machine's "
                  "memory: the GPU reads "
                  "that more slowly, and it is charged to this process's control group, whose "
                  "limit can end the "
                  "process; HEADROOM_ALLOCATOR_HOST names the amount",
                  device, to_string(Bytes{settings->host_bytes})));
  gpu.most_bytes = settings->host_bytes;
}

void* HostRoute::take(const Runtime& runtime, headroom_allocator* allocator, int device,
                      std::uint64_t bytes) {
  OfGpu& gpu = gpus_.at(static_cast<std::size_t>(device));
  const std::uint64_t most = gpu.most_bytes;
  if (bytes > most) return nullptr;
  // The amount is taken before the memory, so that two threads do not both take the rest.
  if (gpu.used_bytes.fetch_add(bytes) > most - bytes) {
    gpu.used_bytes -= bytes;
    return nullptr;
  }
  std::uint64_t room = 0;
  void* memory = nullptr;
  if (headroom_get_machine_room(allocator, &room) != HEADROOM_OK || bytes > room ||
      runtime.allocate_host(&memory, bytes, coherent) != success) {
    gpu.used_bytes -= bytes;
    return nullptr;
  }
  return memory;
}

int HostRoute::give_back(const Runtime& runtime, int device, void* memory, std::uint64_t bytes) {
  const int code = runtime.release_host(memory);
  if (code == success) gpus_.at(static_cast<std::size_t>(device)).used_bytes -= bytes;
  return code;
}

void HostRoute::forget(int device) {
  if (device >= 0 && device < Gpus::max_gpus)
    gpus_.at(static_cast<std::size_t>(device)).used_bytes = 0;
}

}  // namespace headroom::hip_face
