// SPDX-License-Identifier: Apache-2.0
// The command line of a training program as a job: a Hugging Face Trainer script, TRL,
// LLaMA-Factory, Axolotl or torchtune, with the recipe (a YAML or JSON file) that it names. What a
// script hides in its code is not guessed.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "run/job_flags.h"
#include "run/training_words.h"

namespace headroom::run {

struct TrainingCommand {
  JobFlags flags;                  // Each key by the argument that it was taken from.
  std::vector<std::string> notes;  // What was taken from where, what was assumed or not read.
  TrainingProgram program = TrainingProgram::script;
  std::string recipe;  // The path of the file that was read; empty: there was none.
};

// Whether these words are a program that is known by its name and reads a recipe: "axolotl train
// config.yml". Of a Python script that is not known before its arguments are read.
bool is_training_program(const std::vector<std::string>& words);

// `words` is a command: launcher, program, arguments. Options before the program are the launcher's
// and are not read; of an argument that stands twice the last one holds, and the command line wins
// over its recipe. Fails where no program, no model or no known argument is there, where a value is
// not what its argument takes, where the recipe cannot be read, and where the job is not planned
// (spread over processes, another method than training of the whole model or of adapters).
Result<TrainingCommand> parse_training_command(const std::vector<std::string>& words);

}  // namespace headroom::run
