// SPDX-License-Identifier: Apache-2.0
// A training run from its settings to its results: the model, its data, the optimizer, checkpoints
// and reports, inside the job's memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/document.h"
#include "base/result.h"
#include "trainer/device_memory.h"
#include "trainer/observer.h"
#include "trainer/ranks/rank_place.h"
#include "trainer/settings.h"

namespace headroom::trainer {

struct TrainRequest {
  Settings settings;
  std::string output;      // Folder; made if it is not there.
  std::string trace_path;  // Where to record allocations; empty: nowhere.
  MemorySource memory = MemorySource::headroom;
  bool resume = false;
  bool tensorboard = false;  // Whether to write events for TensorBoard as well.
  std::vector<std::string> allowed_changes = {};  // On resuming: of changeable_settings().
  Json predicted;                                 // The plan's answer for the report, or null.
  Json base_model;       // For adapter_config.json: the base model's folder or name, or null.
  RankPlace place = {};  // Which rank of the job this process is.
  std::string base_folder = {};  // Where to write the base as it is quantised; empty: nowhere.
  // What was "auto", for the report and in a line; null and empty: nothing was.
  Json automatic = {};
  std::string chosen = {};
};

struct TrainOutcome {
  Json report;                                          // As written to report.json.
  std::optional<allocator::OutOfMemory> out_of_memory;  // If that ended it.
  Status status = Done{};   // Why the run ended early, if it did, and where things stand.
  Status records = Done{};  // What of the report and the trace could not be written.
  bool leads = true;        // Of several ranks, the one that wrote.
  // Every rank has come to the same end, so that one of them suffices to tell it.
  bool is_known_to_all = false;
};

// Fails where the run could not begin: data or weights that cannot be read, a folder that holds
// another run or that another process writes to, a checkpoint that is damaged or of another run, a
// capacity below the fixed part. Once it has begun, report.json is written whatever happens, and
// after running out of memory or a stop a checkpoint too, if a step was finished. The folder is
// locked until it returns.
//
// Of several ranks each calls this with the same request but for its place; the first writes, and
// where it is lost and the others go on, the next one does.
Result<TrainOutcome> train(const TrainRequest& request, Observer& observer);

}  // namespace headroom::trainer
