// SPDX-License-Identifier: Apache-2.0
// What each training program makes of its settings. `all` is everything it was given, in the order
// in which later ones win; `where` is what the notes call the place they were taken from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "run/training_arguments.h"
#include "run/training_command.h"

namespace headroom::run {

enum class TrainerSource : std::uint8_t {
  script,
  trl,  // TRL's own program, whose defaults are known.
  log,  // What a run printed: settings without a line have the values of a log that lacks them.
};

// A script's TrainingArguments (transformers: src/transformers/training_args.py), with TRL's
// ModelConfig, SFTConfig, DPOConfig and GRPOConfig (huggingface/trl: trl/trainer/model_config.py,
// sft_config.py, dpo_config.py, grpo_config.py).
// `trainer`: "sft", "dpo" or "grpo" where the program's or the script's name tells; empty: the
// arguments do.
Result<TrainingCommand> as_trainer(const std::vector<GivenArgument>& all, TrainerSource source,
                                   const std::string& where, std::string trainer = "");
// Whether memory may depend on the argument of this name.
bool trainer_reads(std::string_view name);

// hiyouga/LLaMA-Factory: src/llamafactory/hparams/, model/adapter.py. Supervised fine-tuning,
// pre-training and DPO, of the whole model or of LoRA adapters.
Result<TrainingCommand> as_llama_factory(const std::vector<GivenArgument>& all,
                                         const std::string& where);

// axolotl-ai-cloud/axolotl: src/axolotl/utils/schemas/, loaders/model.py.
Result<TrainingCommand> as_axolotl(const std::vector<GivenArgument>& all, const std::string& where);

// pytorch/torchtune: recipes/, torchtune/models/, torchtune/modules/. `recipe` as tune names it.
Result<TrainingCommand> as_torchtune(const std::vector<GivenArgument>& all,
                                     const std::string& recipe, const std::string& where);

}  // namespace headroom::run
