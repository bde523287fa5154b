// SPDX-License-Identifier: Apache-2.0
#include "trainer/optimizer_settings.h"

#include <c10/core/ScalarType.h>

#include "trainer/adamw8bit.h"
#include "trainer/quantised/moments.h"

namespace headroom::trainer {

using estimate::OptimizerKind;

namespace {

// Bytes of the states of one parameter, by its optimizer.
struct StatesOf {
  const TrainedShape& shape;
  std::uint64_t number_bytes;  // What a number takes that has the parameter's type.

  std::uint64_t operator()(const AdamWSettings& settings) const {
    if (!settings.in_bytes) return 2 * number_bytes * shape.numbers();
    if (shape.numbers() < least_quantised) return 2 * sizeof(float) * shape.numbers();
    const std::uint64_t blocks =
        (shape.numbers() + quantised::moment_block - 1) / quantised::moment_block;
    return 2 * (shape.numbers() + sizeof(float) * blocks);
  }
  std::uint64_t operator()(const SgdSettings& settings) const {
    return settings.momentum == 0 ? 0 : number_bytes * shape.numbers();
  }
  std::uint64_t operator()(const AdafactorSettings&) const {
    return sizeof(float) * (shape.rows + shape.columns);
  }
};

}  // namespace

OptimizerSettings make_optimizer_settings(const estimate::Job::Optimizer& optimizer) {
  if (optimizer.kind == OptimizerKind::sgd)
    return SgdSettings{.learning_rate = optimizer.learning_rate,
                       .weight_decay = optimizer.weight_decay,
                       .momentum = optimizer.momentum,
                       .nesterov = optimizer.nesterov};
  if (optimizer.kind == OptimizerKind::adafactor)
    return AdafactorSettings{.learning_rate = optimizer.learning_rate,
                             .weight_decay = optimizer.weight_decay,
                             .clip_threshold = optimizer.clip_threshold,
                             .relative_step = optimizer.relative_step,
                             .warmup_init = optimizer.warmup_init,
                             .scale_parameter = optimizer.scale_parameter};
  return AdamWSettings{.learning_rate = optimizer.learning_rate,
                       .weight_decay = optimizer.weight_decay,
                       .in_bytes = optimizer.kind == OptimizerKind::adamw8bit};
}

void add_to_json(const OptimizerSettings& optimizer, Json& json) {
  std::visit([&](const auto& one) { json["weight_decay"] = one.weight_decay; }, optimizer);
  if (const auto* adamw = std::get_if<AdamWSettings>(&optimizer)) {
    json["optimizer"] = adamw->in_bytes ? "adamw8bit" : "adamw";
    json["learning_rate"] = adamw->learning_rate;
  } else if (const auto* sgd = std::get_if<SgdSettings>(&optimizer)) {
    json["optimizer"] = "sgd";
    json["learning_rate"] = sgd->learning_rate;
    json["momentum"] = sgd->momentum;
    json["nesterov"] = sgd->nesterov;
  } else if (const auto* adafactor = std::get_if<AdafactorSettings>(&optimizer)) {
    json["optimizer"] = "adafactor";
    if (!adafactor->relative_step) json["learning_rate"] = adafactor->learning_rate;
    json["relative_step"] = adafactor->relative_step;
    json["scale_parameter"] = adafactor->scale_parameter;
    json["warmup_init"] = adafactor->warmup_init;
    json["clip_threshold"] = adafactor->clip_threshold;
  }
}

std::uint64_t state_bytes(const OptimizerSettings& optimizer, bool masters,
                          const estimate::ModelConfig& config, const ModelOptions& options) {
  const at::ScalarType stored = options.lora ? options.lora->dtype : options.dtype;
  const bool has_master = masters && c10::elementSize(stored) < sizeof(float);
  const std::uint64_t number_bytes = has_master ? sizeof(float) : c10::elementSize(stored);
  std::uint64_t bytes = 0;
  for (const TrainedShape& shape : trained_shapes(config, options)) {
    const std::uint64_t one = std::visit(StatesOf{shape, number_bytes}, optimizer) +
                              (has_master ? sizeof(float) * shape.numbers() : 0);
    bytes += shape.count * one;
  }
  return bytes;
}

}  // namespace headroom::trainer
