// SPDX-License-Identifier: Apache-2.0
// The command line of a Hugging Face Trainer script as a job: arguments of TrainingArguments
// (transformers: src/transformers/training_args.py), and of TRL's ModelConfig and SFTConfig
// (huggingface/trl: trl/trainer/model_config.py). What a script hides in its code is not guessed.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "run/job_flags.h"

namespace headroom::run {

struct TrainerCommand {
  JobFlags flags;                  // Each key by the argument that it was taken from.
  std::vector<std::string> notes;  // What was taken from where, what was assumed or not read.
};

// `words` is a command: launcher, script, arguments. Options before the script are the launcher's
// and are not read; of an argument that stands twice the last one holds. Fails where no script,
// no model or no known argument is there, where a value is not what its argument takes, and where
// the job is spread over processes (DeepSpeed, FSDP), which is not planned.
Result<TrainerCommand> parse_trainer_command(const std::vector<std::string>& words);

}  // namespace headroom::run
