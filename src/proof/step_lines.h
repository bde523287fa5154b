// SPDX-License-Identifier: Apache-2.0
// What the program of the steps (python/headroom_steps) writes on its standard output: lines of
// JSON behind a prefix, among whatever the framework writes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/document_fwd.h"
#include "proof/soak.h"
#include "proof/step.h"

namespace headroom::proof {

// A device as the framework sees it.
struct SeenDevice {
  std::string device;  // The framework's own name: "cuda:0".
  std::string name;
  std::optional<std::string> pci;
  std::optional<std::string> target;  // "gfx1100".
  std::uint64_t free = 0, total = 0;  // In bytes; 0: it does not say.
};

// What a training has told so far: steps that are done, in order.
struct TrainingProgress {
  std::vector<double> step_s;        // Seconds of each.
  std::optional<double> first_loss;  // Nothing: it was not a number.
  std::optional<double> last_loss;
  std::uint64_t peak_bytes = 0;  // The highest that was told; 0: none was.
  std::string peak_by;           // Who counted it.
};

// One thread at a time. Takes pieces as they come; a line that is not as expected is left out, so
// that a program which imitates the prefix only loses its own line.
class StepLines {
 public:
  // `others` gets what the framework writes, in order; may be empty.
  explicit StepLines(std::function<void(std::string_view)> others = {})
      : others_(std::move(others)) {}

  void feed(std::string_view piece);
  // What came between the last piece and the next was lost: the line that stands is not whole.
  void lose();

  // The step that was announced and has not ended; empty: none.
  const std::string& running() const { return running_; }
  // How many were announced or ended so far: it grows while there is progress.
  std::size_t progress() const { return progress_; }
  const std::vector<StepResult>& results() const { return results_; }
  const std::optional<std::vector<SeenDevice>>& devices() const { return devices_; }
  const std::string& version() const { return version_; }
  // The frameworks that this Python has, if it was asked; at most a few names.
  const std::optional<std::vector<std::string>>& frameworks() const { return frameworks_; }
  const TrainingProgress& training() const { return training_; }
  // The load's own times, in order.
  const std::vector<SoakPoint>& soak() const { return soak_; }

 private:
  void take(const std::string& line);
  // Each returns whether the line was of that kind, and as expected.
  bool take_progress(const Json& line);
  bool take_soak(const Json& line);
  bool take_together(const Json& line);
  bool take_frameworks(const Json& line);
  bool is_done(const std::string& step) const;
  void pass_on(const std::string& text) const;

  std::function<void(std::string_view)> others_;
  std::string line_;
  bool is_too_long_ = false;
  std::string running_;
  std::size_t progress_ = 0;
  std::vector<StepResult> results_;
  std::optional<std::vector<SeenDevice>> devices_;
  std::string version_;
  std::optional<std::vector<std::string>> frameworks_;
  TrainingProgress training_;
  std::vector<SoakPoint> soak_;
  std::size_t told_together_ = 0;
  double soak_at_s_ = 0;  // When the load last told that it goes on.
};

}  // namespace headroom::proof
