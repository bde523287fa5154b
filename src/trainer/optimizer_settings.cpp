// SPDX-License-Identifier: Apache-2.0
#include "trainer/optimizer_settings.h"

namespace headroom::trainer {

using estimate::OptimizerKind;

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
                       .weight_decay = optimizer.weight_decay};
}

void add_to_json(const OptimizerSettings& optimizer, Json& json) {
  std::visit([&](const auto& one) { json["weight_decay"] = one.weight_decay; }, optimizer);
  if (const auto* adamw = std::get_if<AdamWSettings>(&optimizer)) {
    json["optimizer"] = "adamw";
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

std::uint64_t state_bytes(const OptimizerSettings& optimizer, const estimate::ModelConfig& config,
                          const ModelOptions& options) {
  if (std::holds_alternative<AdafactorSettings>(optimizer))
    return sizeof(float) * factored_numbers(config, options);
  const auto* sgd = std::get_if<SgdSettings>(&optimizer);
  if (sgd != nullptr && sgd->momentum == 0) return 0;
  const ParameterBytes parameters = parameter_bytes(config, options);
  const std::uint64_t trained = options.lora ? parameters.adapters : parameters.weights;
  return sgd != nullptr ? trained : 2 * trained;
}

}  // namespace headroom::trainer
