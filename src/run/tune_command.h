// SPDX-License-Identifier: Apache-2.0
// torchtune's own command line: tune run [TORCHRUN-OPTIONS] RECIPE --config FILE [key=value ...]
// (pytorch/torchtune: torchtune/_cli/run.py, torchtune/config/_utils.py).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "run/training_arguments.h"

namespace headroom::run {

struct TuneCommand {
  std::string recipe;  // "lora_finetune_single_device", or a script's path.
  std::string config;  // The path of the YAML file.
  std::vector<GivenArgument>
      all;  // The file's settings under what overrides them, "model.lora_rank".
  std::vector<std::string> launcher;  // Options for torchrun that do not spread the job.
};

// `from` is the word behind "tune run". Fails where no recipe or no file is named, where the recipe
// is none that is planned, where the file cannot be read, where an override is none, and where the
// job runs in several processes.
Result<TuneCommand> read_tune_command(const std::vector<std::string>& words, std::size_t from);

}  // namespace headroom::run
