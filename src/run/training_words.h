// SPDX-License-Identifier: Apache-2.0
// Settings in the words of the training program that the job came from: what a person changes
// there to have what was advised.
#pragma once

#include <cstdint>
#include <string>

#include "estimate/change.h"

namespace headroom::run {

enum class TrainingProgram : std::uint8_t { script, trl, llama_factory, axolotl, torchtune };

// "--per_device_train_batch_size 1 --gradient_accumulation_steps 8" or, with `in_recipe`,
// "micro_batch_size: 1, gradient_accumulation_steps: 8"; behind them, as a job names it, what the
// program has no setting for.
std::string to_words(const estimate::Change& change, TrainingProgram program, bool in_recipe);

}  // namespace headroom::run
