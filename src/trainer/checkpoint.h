// SPDX-License-Identifier: Apache-2.0
// Where training stands, in one safetensors file: what trains, the optimizer's state, and how far
// the data has been read. One file, so that it is replaced in one rename and is always whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "trainer/model.h"
#include "trainer/optimizer.h"
#include "trainer/run_identity.h"
#include "trainer/tensor_writer.h"

namespace headroom::trainer {

struct Position {
  std::uint64_t steps = 0;      // Optimizer steps done.
  std::uint64_t epoch = 0;      // Counted from 0.
  std::uint64_t sample = 0;     // Of the epoch's order: the next row to train on.
  std::uint64_t samples = 0;    // Trained on since the beginning.
  std::uint64_t evaluated = 0;  // The step after which the last evaluation was; 0: none was yet.
  // Samples at once, where memory did not suffice for a whole micro-batch (fitting_batches.h).
  std::optional<std::uint64_t> at_once = {};
  // The best evaluation so far; its model is in OUTPUT/best (best_model.h).
  struct Best {
    std::uint64_t step = 0;
    double loss = 0;
    bool operator==(const Best&) const = default;
  };
  std::optional<Best> best = {};
  bool operator==(const Position&) const = default;
};

// OUTPUT/checkpoint/state.safetensors
std::string checkpoint_path(const std::string& output);

// With a checksum of its header and one of every tensor. Of a model that is split it is the file of
// the whole one, so that it can be resumed with another split, or without one.
Status save_checkpoint(const std::string& path, Model& model, Optimizer& optimizer,
                       const RunIdentity& identity, const Position& position,
                       const TensorWriter& writer = {});

struct LoadedCheckpoint {
  Position position;
  bool has_checksums = true;  // Those of older versions have none.
  // Whether its numbers were computed with fused multiply-add, which this processor's kernels may
  // do otherwise; nothing: an older version did not say.
  std::optional<bool> fused = {};
  bool gpu = false;  // Whether a GPU computed them.
};

// Fills the trainable parameters and the optimizer, of a model that is split this rank's. Fails,
// without touching either, where the file is of another run, naming each difference that is not in
// `allowed`; and where any byte of it is not as it was written, which the tensors may show when
// some are filled already. Of an older version's file only seed, batch and the size of the data can
// be compared.
Result<LoadedCheckpoint> load_checkpoint(const std::string& path, Model& model,
                                         Optimizer& optimizer, const RunIdentity& identity,
                                         const std::vector<std::string>& allowed = {});

}  // namespace headroom::trainer
