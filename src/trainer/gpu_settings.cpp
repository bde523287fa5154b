// SPDX-License-Identifier: Apache-2.0
#include "trainer/gpu_settings.h"

#include <fmt/format.h>

#include <variant>

#include "allocator/backends/cuda_driver.h"
#include "allocator/backends/hip_driver.h"
#include "trainer/gpu_allocator.h"

namespace headroom::trainer {
namespace {

// What only the processor's loops do.
Status check_job(const Settings& settings) {
  const auto refuse = [](const char* key, const char* expected, const char* found) -> Status {
    return Error{Errc::unsupported,
                 fmt::format("{}: expected {} to train on a GPU, found {}", key, expected, found),
                 "--device cpu, or another value there"};
  };
  if (settings.model.quantised) return refuse("method.kind", "\"full\" or \"lora\"", "\"qlora\"");
  if (std::holds_alternative<AdafactorSettings>(settings.optimizer))
    return refuse("optimizer.kind", "\"adamw\" or \"sgd\"", "\"adafactor\"");
  if (settings.model.part) return refuse("engine.stages", "1", "more");
  return Done{};
}

// Ranks of one machine take its GPUs in turn.
int gpu_of(std::uint32_t turn, int gpus) {
  return static_cast<int>(turn % static_cast<std::uint32_t>(gpus));
}

}  // namespace

int count_gpus() {
  const auto runtime = replaceable_gpu_runtime();
  if (!runtime) return 1;
  const auto count = *runtime == allocator::GpuRuntime::hip ? allocator::count_hip_gpus()
                                                            : allocator::count_cuda_gpus();
  return count && *count > 0 ? *count : 1;
}

std::uint32_t ranks_on_same_gpu(const RankPlace& place, int gpus) {
  const int own = gpu_of(place.rank % place.on_this_machine, gpus);
  std::uint32_t ranks = 0;
  for (std::uint32_t turn = 0; turn < place.on_this_machine; ++turn)
    if (gpu_of(turn, gpus) == own) ++ranks;
  return ranks;
}

Result<std::optional<std::string>> choose_device(const std::string& asked, const RankPlace& place,
                                                 Settings& settings) {
  settings.model.device = at::kCPU;
  if (asked == "cpu") return std::optional<std::string>();
  if (!has_gpu()) {
    if (asked == "auto") return std::optional<std::string>();
    return Error{Errc::unsupported,
                 "--device gpu: expected a libtorch that sees a GPU, found one that does not",
                 "./dev build-with-torch PYTHON builds headroom-train on the libtorch of your own "
                 "PyTorch; headroom check says what hides a GPU"};
  }
  if (Status can = check_job(settings); !can) {
    if (asked == "gpu") return std::move(can).error();
    return std::optional<std::string>("on the processor: " + can.error().message);
  }
  const std::uint32_t turn = place.rank % place.on_this_machine;
  settings.model.device =
      at::Device(at::kCUDA, static_cast<at::DeviceIndex>(gpu_of(turn, count_gpus())));
  return std::optional<std::string>();
}

}  // namespace headroom::trainer
