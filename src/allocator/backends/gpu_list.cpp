// SPDX-License-Identifier: Apache-2.0
#include "allocator/backends/gpu_list.h"

#include <fmt/format.h>

#include <utility>

#include "allocator/backends/cuda_driver.h"
#include "allocator/backends/hip_driver.h"
#include "allocator/backends/told_by_child.h"
#include "allocator/backends/virtual_memory_verdict.h"
#include "base/document.h"
#include "base/text.h"

namespace headroom::allocator {
namespace {

// How a GPU goes from the child to us.
Json to_json(const ListedGpu& gpu) {
  return {{"name", gpu.name},           {"pci", gpu.pci},
          {"gpu", gpu.key.gpu},         {"driver", gpu.key.driver},
          {"runtime", gpu.key.runtime}, {"problem", gpu.problem}};
}

ListedGpu from_json(int device, const Json& json) {
  const auto text = [&json](const char* name) {
    const auto found = json.find(name);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  return {device,
          text("name"),
          text("pci"),
          {text("gpu"), text("driver"), text("runtime")},
          text("problem")};
}

ListedGpu describe(GpuRuntime runtime, int device) {
  const bool is_hip = runtime == GpuRuntime::hip;
  ListedGpu gpu;
  gpu.device = device;
  const auto driver = is_hip ? open_hip(device) : open_cuda(device);
  if (!driver) {
    gpu.problem = driver.error().message;
    return gpu;
  }
  gpu.name = (*driver)->gpu_name().value_or("");
  gpu.pci = (*driver)->pci_address().value_or("");
  gpu.key = is_hip ? hip_key(**driver, "", "") : cuda_key(**driver);
  return gpu;
}

Status tell_gpus(GpuRuntime runtime, const Teller& teller) {
  HEADROOM_TRY(const int count, runtime == GpuRuntime::hip ? count_hip_gpus() : count_cuda_gpus());
  for (int device = 0; device < count; ++device) {
    const Json gpu = to_json(describe(runtime, device));
    teller.tell(gpu.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  return Done{};
}

Error with_last_words(Error error, const ToldByChild& child) {
  if (!child.last_words.empty()) error.message += "; it said: " + child.last_words;
  return error;
}

}  // namespace

std::string_view to_string(GpuRuntime runtime) {
  return runtime == GpuRuntime::hip ? "HIP" : "CUDA";
}

Result<std::vector<ListedGpu>> list_gpus(GpuRuntime runtime, std::uint64_t timeout_ms) {
  const std::string doing = fmt::format("asking {} for its GPUs", to_string(runtime));
  HEADROOM_TRY(const ToldByChild child,
               ask_child([runtime](const Teller& teller) { return tell_gpus(runtime, teller); },
                         timeout_ms, doing));
  if (!child.ended) return with_last_words(child.ended.error(), child);
  std::vector<ListedGpu> gpus;
  for (const std::string_view line : split_lines(child.told)) {
    HEADROOM_TRY(const Json json, parse_json(line));
    gpus.push_back(from_json(static_cast<int>(gpus.size()), json));
  }
  if (gpus.empty())
    return Error{Errc::unsupported, fmt::format("{} has no GPU here", to_string(runtime)),
                 "headroom check shows which GPUs this machine has"};
  return gpus;
}

}  // namespace headroom::allocator
