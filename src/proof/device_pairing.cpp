// SPDX-License-Identifier: Apache-2.0
#include "proof/device_pairing.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "findings/job_gpus.h"

namespace headroom::proof {
namespace {

using facts::Gpu;

constexpr Bytes mib{1 << 20};
constexpr Bytes gib{1 << 30};
constexpr std::string_view cuda = "cuda:";  // HIP's devices have this name, too.

// A context, the libraries' workspaces and rounding.
Bytes margin_of(Bytes free) {
  return std::max(Bytes{512 * mib.value}, Bytes{free.value / 100 * 3});
}

// nullptr: it may be any, or none.
const Gpu* find_gpu(const SeenDevice& seen, std::size_t count, const std::vector<Gpu>& gpus) {
  if (seen.pci) {
    const auto at = std::find_if(gpus.begin(), gpus.end(),
                                 [&seen](const Gpu& gpu) { return gpu.pci == *seen.pci; });
    return at == gpus.end() ? nullptr : &*at;
  }
  // Only HIP's devices have a target; another maker's card is none of these.
  if (!seen.target || !seen.target->starts_with("gfx")) return nullptr;
  if (count == 1 && gpus.size() == 1) return gpus.data();
  if (!seen.device.starts_with(cuda)) return nullptr;
  const auto index = parse_u64(std::string_view(seen.device).substr(cuda.size()));
  const auto at = std::find_if(gpus.begin(), gpus.end(), [&index](const Gpu& gpu) {
    return index && gpu.connection.hip_index && *gpu.connection.hip_index == *index;
  });
  return at == gpus.end() ? nullptr : &*at;
}

std::optional<Bytes> free_of(const Gpu& gpu) {
  const facts::Rung* const binding = gpu.ladder.binding();
  if (binding == nullptr || !binding->limit || !binding->used) return std::nullopt;
  return saturating_sub(*binding->limit, *binding->used);
}

Bytes memory_of(const SeenDevice& seen, const Gpu* gpu, const facts::Meminfo& ram) {
  const auto known = gpu == nullptr ? std::nullopt : free_of(*gpu);
  Bytes memory = known ? saturating_sub(*known, margin_of(*known)) : Bytes{seen.free / 10 * 9};
  const bool is_card = gpu == nullptr || (gpu->integrated && !*gpu->integrated);
  // An APU's memory may be the system's, which must go on.
  if (!is_card && ram.available)
    memory = std::min(memory, saturating_sub(*ram.available, Bytes{2 * gib.value}));
  return memory;
}

}  // namespace

Pairing pair_devices(const std::vector<SeenDevice>& seen, const facts::Facts& facts) {
  Pairing pairing;
  for (const SeenDevice& one : seen) {
    DeviceToTest device;
    device.gpu = find_gpu(one, seen.size(), facts.gpus);
    device.asked_by = one.device;
    device.device = device.gpu != nullptr ? device.gpu->pci : one.pci.value_or(one.device);
    device.name = device.gpu != nullptr ? device.gpu->name : one.name;
    device.memory = memory_of(one, device.gpu, facts.machine.memory);
    pairing.devices.push_back(std::move(device));
  }
  for (const Gpu* gpu : findings::job_gpus(facts)) {
    const bool is_seen =
        std::any_of(pairing.devices.begin(), pairing.devices.end(),
                    [gpu](const DeviceToTest& device) { return device.gpu == gpu; });
    if (!is_seen) pairing.unseen.push_back(gpu);
  }
  return pairing;
}

DeviceToTest make_processor(const facts::Facts& facts) {
  DeviceToTest device;
  device.asked_by = device.device = "cpu";
  device.name = "the processor";
  const Bytes available = facts.machine.memory.available.optional().value_or(gib);
  device.memory = std::min(gib, Bytes{available.value / 8});
  return device;
}

}  // namespace headroom::proof
