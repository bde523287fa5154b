// SPDX-License-Identifier: Apache-2.0
// What each training program makes of its settings. `all` is everything it was given, in the order
// in which later ones win; `where` is what the notes call the place they were taken from.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "run/training_arguments.h"
#include "run/training_command.h"

namespace headroom::run {

// A script's TrainingArguments (transformers: src/transformers/training_args.py), with TRL's
// ModelConfig and SFTConfig (huggingface/trl: trl/trainer/model_config.py, sft_config.py).
// `is_trl`: TRL's own program, whose defaults are known.
Result<TrainingCommand> as_trainer(const std::vector<GivenArgument>& all, bool is_trl,
                                   const std::string& where);

// hiyouga/LLaMA-Factory: src/llamafactory/hparams/, model/adapter.py. Supervised fine-tuning and
// pre-training, of the whole model or of LoRA adapters.
Result<TrainingCommand> as_llama_factory(const std::vector<GivenArgument>& all,
                                         const std::string& where);

// axolotl-ai-cloud/axolotl: src/axolotl/utils/schemas/, loaders/model.py.
Result<TrainingCommand> as_axolotl(const std::vector<GivenArgument>& all, const std::string& where);

}  // namespace headroom::run
