// SPDX-License-Identifier: Apache-2.0
// Where training stands, in one safetensors file: what trains, the optimizer's state, and how far
// the data has been read. One file, so that it is replaced in one rename and is always whole.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "trainer/adamw.h"
#include "trainer/model.h"

namespace headroom::trainer {

struct Position {
  std::uint64_t steps = 0;    // Optimizer steps done.
  std::uint64_t epoch = 0;    // Counted from 0.
  std::uint64_t sample = 0;   // Of the epoch's order: the next one to train on.
  std::uint64_t samples = 0;  // Trained on since the beginning.
  bool operator==(const Position&) const = default;
};

// What must be the same for a resumed run to continue the one before.
struct RunIdentity {
  std::uint64_t seed = 0;
  std::uint64_t data_samples = 0;
  std::uint64_t data_tokens = 0;
  std::uint64_t samples_per_step = 0;
  bool operator==(const RunIdentity&) const = default;
};

// OUTPUT/checkpoint/state.safetensors
std::string checkpoint_path(const std::string& output);

Status save_checkpoint(const std::string& path, Model& model, AdamW& optimizer,
                       const RunIdentity& identity, const Position& position);

// Fills the trainable parameters and the optimizer. Fails, without touching either, where the file
// is of another run, naming what differs.
Result<Position> load_checkpoint(const std::string& path, Model& model, AdamW& optimizer,
                                 const RunIdentity& identity);

}  // namespace headroom::trainer
