// SPDX-License-Identifier: Apache-2.0
// The words of other programs for what a job says: attn_implementation's and
// TrainingArguments.optim of transformers, PEFT's target_modules.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document_reader.h"
#include "estimate/job.h"

namespace headroom::estimate {

// Of attn_implementation, what our own names do not say: nothing where PyTorch chooses ("sdpa").
struct AttentionWord {
  std::string_view word;
  std::optional<Attention> attention;
  bool own_windows = false;
};
const std::vector<AttentionWord>& attention_words();

// TrainingArguments.optim.
struct OptimizerWord {
  std::string_view word;
  OptimizerKind kind = OptimizerKind::adamw;
  bool fused = false;
};
const std::vector<OptimizerWord>& optimizer_words();

// What a module's name stands for in every family that has it, several projections where it is a
// fused one; empty if it is not known. "all-linear" is all projections of the layers.
std::vector<Target> targets_of(std::string_view module);

// Reads a release as packages write it ("4.57.1", "2.6.0+rocm6.2"; a leading "v" is left out), or
// "newest". Anything else is refused: it would be taken for the newest.
void read_release(TableReader& table, const char* key, std::string& release);

// method.group_size: -1, or a whole number as every other.
void read_group_size(TableReader& table, Job::Method& method);

}  // namespace headroom::estimate
