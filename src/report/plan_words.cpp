// SPDX-License-Identifier: Apache-2.0
#include "report/plan_words.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/text.h"

namespace headroom::report {

using estimate::Plan;

std::string trainer_of(const Plan& plan) {
  switch (plan.job.preference.trainer) {
    case estimate::TrainerKind::dpo:
      return "DPO, ";
    case estimate::TrainerKind::grpo:
      return "GRPO, ";
    case estimate::TrainerKind::sft:
      break;
  }
  return "";
}

std::string batch_of(const Plan& plan, const estimate::Architecture& model) {
  const auto& batch = plan.job.batch;
  const bool images =
      !model.stacks.empty() && model.main().input.kind == estimate::Input::Kind::patches;
  if (images)
    return fmt::format("{} {} of {} × {} pixels at a time", batch.micro.value_or(0),
                       batch.micro.value_or(0) == 1 ? "image" : "images",
                       model.main().input.image_size, model.main().input.image_size);
  if (plan.job.method.kind == estimate::MethodKind::inference) {
    return fmt::format("batch {}, prompt of {} tokens, {} generated", batch.micro.value_or(0),
                       batch.prompt, batch.generate);
  }
  // DPO's micro-batch has two rows of each pair.
  const bool pairs = plan.job.preference.trainer == estimate::TrainerKind::dpo;
  return fmt::format("micro-batch {}{} × {} tokens, accumulated {} ×", batch.micro.value_or(0),
                     !pairs                         ? ""
                     : batch.micro.value_or(0) == 1 ? " pair"
                                                    : " pairs",
                     batch.sequence, batch.accumulate.value_or(1));
}

std::string method_of(const estimate::Plan& plan) {
  const auto& method = plan.job.method;
  if (method.kind == estimate::MethodKind::full) return "full fine-tuning";
  if (method.kind == estimate::MethodKind::inference) return "inference";
  std::vector<std::string> targets;
  for (const auto target : method.targets) targets.emplace_back(to_string(target));
  std::vector<std::string> whole;
  for (const auto module : method.modules_to_save) whole.emplace_back(to_string(module));
  return fmt::format("{} of rank {} on {}{}",
                     method.kind == estimate::MethodKind::lora ? "LoRA" : "QLoRA", method.rank,
                     join(targets, " "),
                     whole.empty() ? "" : fmt::format(", {} whole", join(whole, " and ")));
}

}  // namespace headroom::report
