// SPDX-License-Identifier: Apache-2.0
#include "trainer/calibration/measure_steps.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "estimate/step_time.h"
#include "machine/clock.h"
#include "machine/processor.h"
#include "trainer/gradient_norm.h"
#include "trainer/model.h"
#include "trainer/optimizer.h"
#include "trainer/optimizer_settings.h"
#include "trainer/step.h"

namespace headroom::trainer::calibration {
namespace {

using estimate::DType;
using estimate::MeasuredStep;

struct StepModel {
  DType dtype;
  std::uint64_t hidden, heads, layers, vocabulary;
  std::uint64_t micro, sequence;
};

// From one that the cache holds to one that keeps two processors busy for a second, with heads of
// 32, 64 and 128.
constexpr std::array models = {StepModel{DType::fp32, 128, 4, 4, 1000, 8, 128},
                               StepModel{DType::fp32, 512, 8, 4, 4000, 4, 256},
                               StepModel{DType::fp32, 1024, 8, 2, 4000, 1, 512},
                               StepModel{DType::bf16, 256, 8, 4, 4000, 4, 256},
                               StepModel{DType::bf16, 768, 6, 2, 4000, 1, 512}};

estimate::ModelConfig config_of(const StepModel& model) {
  estimate::ModelConfig config;
  config.family = "llama";
  config.hidden = model.hidden;
  config.intermediate = model.hidden * 8 / 3 / 32 * 32;
  config.layers = model.layers;
  config.heads = model.heads;
  config.kv_heads = model.heads / 2;
  config.head_dim = model.hidden / model.heads;
  config.vocabulary = model.vocabulary;
  config.tied = true;
  return config;
}

estimate::Job job_of(const StepModel& model) {
  estimate::Job job;
  job.compute.dtype = model.dtype;
  job.compute.attention = estimate::Attention::efficient;
  job.batch.micro = model.micro;
  job.batch.sequence = model.sequence;
  job.batch.accumulate = 1;
  job.engine.kind = estimate::EngineKind::headroom;
  return job;
}

// Steps of one model, each without its waiting.
class Steps {
 public:
  explicit Steps(const StepModel& model)
      : model_(config_of(model), {.dtype = model.dtype == DType::bf16 ? at::kBFloat16 : at::kFloat,
                                  .lora = std::nullopt,
                                  .longest = static_cast<std::int64_t>(model.sequence)}),
        optimizer_(make_optimizer(model_.trainable(), AdamWSettings{.learning_rate = 1e-6})) {
    model_.initialise_base(1);
    const auto rows = static_cast<std::int64_t>(model.micro * model.sequence);
    const auto options = at::TensorOptions().dtype(at::kLong);
    batch_.batch = static_cast<std::int64_t>(model.micro);
    batch_.sequence = static_cast<std::int64_t>(model.sequence);
    batch_.ids = at::arange(rows, options)
                     .mul_(7919)
                     .remainder_(static_cast<std::int64_t>(model.vocabulary));
    batch_.targets = batch_.ids.clone();
  }

  machine::Stretch run() {
    machine::QuietClock clock;
    const double scale = 1.0 / static_cast<double>(batch_.batch * batch_.sequence);
    train_micro_batch(model_, batch_, scale, 1);
    const double norm = gradient_norm(model_.trainable());
    optimizer_->step({.rate = 1, .gradient = clip_factor(norm, 1.0)});
    return clock.take();
  }

 private:
  Model model_;
  std::unique_ptr<Optimizer> optimizer_;
  MicroBatch batch_;
};

// The median of the half that waited least; nothing where that, too, waited so much that what is
// left says little.
std::optional<double> typical(std::vector<machine::Stretch> stretches) {
  std::sort(stretches.begin(), stretches.end(), [](const auto& one, const auto& other) {
    return one.waited_share() < other.waited_share();
  });
  stretches.resize((stretches.size() + 1) / 2);
  constexpr double most_waited_share = 0.3;
  if (stretches.back().waited_share() > most_waited_share) return std::nullopt;
  std::sort(stretches.begin(), stretches.end(),
            [](const auto& one, const auto& other) { return one.quiet_s < other.quiet_s; });
  return stretches[stretches.size() / 2].quiet_s;
}

}  // namespace

Result<std::vector<MeasuredStep>> measure_steps(const estimate::OperationTimes& rates,
                                                double seconds, DeviceMemory& memory,
                                                const WantsStop& wants_stop) {
  constexpr std::size_t fewest = 3, most = 40;
  std::vector<MeasuredStep> measured;
  for (const StepModel& model : models) {
    MeasuredStep step{.dtype = model.dtype};
    HEADROOM_TRY(step.rates_s, rates_of_step(job_of(model), config_of(model), rates));
    Steps steps(model);
    const std::uint64_t start = machine::monotonic_ns();
    const double share_s = seconds / static_cast<double>(models.size());
    steps.run();  // The first one also makes the optimizer's states.
    memory.end_step(model.micro);
    std::vector<machine::Stretch> stretches;
    while (stretches.size() < fewest ||
           (stretches.size() < most &&
            static_cast<double>(machine::monotonic_ns() - start) * 1e-9 < share_s)) {
      stretches.push_back(steps.run());
      memory.end_step(model.micro);
      if (wants_stop()) return stopped();
    }
    const auto measured_s = typical(std::move(stretches));
    if (!measured_s) continue;
    step.measured_s = *measured_s;
    measured.push_back(step);
  }
  return measured;
}

}  // namespace headroom::trainer::calibration
