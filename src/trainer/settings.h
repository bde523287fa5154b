// SPDX-License-Identifier: Apache-2.0
// A job as the trainer understands it. What headroom-train cannot do is refused here, with the key
// that asks for it, before anything is read or allocated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/document.h"
#include "base/result.h"
#include "run/job_file.h"
#include "trainer/data/batches.h"
#include "trainer/data/samples.h"
#include "trainer/data/split.h"
#include "trainer/model.h"
#include "trainer/optimizer.h"
#include "trainer/schedule.h"

namespace headroom::trainer {

// What waits in host memory while the device does not need it.
struct Offload {
  bool optimizer = false;         // The optimizer's states.
  bool activations = false;       // What layers keep for their backward passes.
  std::optional<Bytes> capacity;  // None: what the machine has free.

  bool any() const { return optimizer || activations; }
};

struct Settings {
  estimate::ModelConfig config;
  Json original_config;                     // As read, to be written back beside the weights.
  std::optional<std::string> model_folder;  // Where weights may lie; none: config alone.
  ModelOptions model;
  OptimizerSettings optimizer;
  bool masters = false;  // StateOptions, as `offload.optimizer`.
  Offload offload;
  ScheduleSettings schedule;
  std::optional<double> max_grad_norm;  // Of a step's gradients together; none: not clipped.
  data::BatchShape batch;
  data::Source data;
  data::Evaluation evaluation;
  std::uint64_t evaluate_every = 0;  // Optimizer steps; 0: after every epoch.
  std::uint64_t epochs = 1;
  std::uint64_t seed = 1;
  std::optional<Bytes> capacity;  // None: what the machine has.
};

// `loaded.job` has no "auto" left in it (estimate::Plan::job). Paths become relative to the current
// folder.
Result<Settings> make_settings(const run::LoadedJob& loaded);

// What a report says about them.
Json to_json(const Settings& settings);
// Adds what it says about the training data.
void add_data(const Settings& settings, const data::SampleSet& samples, Json& report);

// What any training with these settings holds throughout: parameters, their gradients and the
// optimizer's state, on the device or offloaded, before a single activation.
struct FixedBytes {
  std::uint64_t weights = 0;
  std::uint64_t adapters = 0;
  std::uint64_t gradients = 0;
  std::uint64_t optimizer = 0;
  std::uint64_t offloaded = 0;

  std::uint64_t on_device() const { return weights + adapters + gradients + optimizer; }
};
FixedBytes fixed_bytes(const Settings& settings);

// Fails where a capacity does not even hold those, and says how much would. `host`: of what is
// offloaded, if anything is.
Status check_capacity(const Settings& settings, Bytes capacity, std::optional<Bytes> host);

}  // namespace headroom::trainer
