// SPDX-License-Identifier: Apache-2.0
// The folder a run writes into: made, locked, checked for what another run or a model has left
// there and for room, before anything is trained.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "trainer/output_lock.h"
#include "trainer/settings.h"

namespace headroom::trainer {

// Makes the folder and OUTPUT/checkpoint, and locks the folder for as long as the lock is kept.
// What runs that were killed left half-written there goes. Fails
//   - where another process has it (busy),
//   - where a run's results or a model lie there and `resume` is not set, for nothing is
//   overwritten,
//   - where `resume` is set and there is no checkpoint.
Result<OutputLock> open_output(const std::string& folder, bool resume);

// Makes the folder, and those above it, where they are not there.
Status make_folder(const std::string& path);

// What a run writes at most, file by file. A new checkpoint is whole before the old one goes, and
// so is a better model.
struct OutputSize {
  std::uint64_t result = 0;  // The model or the adapter, and its configuration.
  std::uint64_t best = 0;    // The same of the best evaluation; 0: there is none.
  std::uint64_t checkpoint = 0;
  std::uint64_t recording = 0;  // allocator.flight
  std::uint64_t metrics = 0;    // With the events for TensorBoard, if there are any.
  std::uint64_t report = 0;     // As JSON and as a page.
  std::uint64_t total() const {
    return result + 2 * best + 2 * checkpoint + recording + metrics + report;
  }
};
// `steps`: of the whole run. `evaluations`: at most so many. `report_bytes`: of the plan that the
// report repeats. `recorded`: whether there is a flight recording. `has_events`: whether there are
// events for TensorBoard.
struct RunLength {
  std::uint64_t steps = 0;
  std::uint64_t evaluations = 0;
  std::uint64_t report_bytes = 0;
  bool recorded = true;
  bool has_events = false;
};
OutputSize output_size(const Settings& settings, const RunLength& length);

// What the file system still needs to have free, beside what lies in the folder and is replaced.
Bytes room_needed(const std::string& folder, const OutputSize& size);

// Fails (no_space) where it has less. Where it does not say, writing does.
Status check_room(const std::string& folder, const OutputSize& size);

}  // namespace headroom::trainer
