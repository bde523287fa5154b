// SPDX-License-Identifier: Apache-2.0
// The settings of a command that decide how much memory it takes, and what becomes of them after an
// out of memory: the micro-batch shrinks and the accumulation grows, so that each optimizer step
// sees the same samples and the mathematics stay as they were.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "knowledge/trainer_flags.h"

namespace headroom::supervisor {

struct Settings {
  std::optional<std::uint64_t> micro;       // Samples (or layers on the GPU) at once.
  std::optional<std::uint64_t> accumulate;  // Micro-batches of an optimizer step.
  std::vector<std::string> resume;          // What `{resume}` becomes from the second attempt on.

  bool operator==(const Settings&) const = default;
};

// "micro=8,accumulate=4,resume=--resume_from_checkpoint latest". Fails with the word that is wrong.
Result<Settings> parse_settings(const std::string& text);

// The largest divisor of micro that is at most half of it, with micro × accumulate kept. Nothing
// where micro is unknown or 1.
std::optional<Settings> smaller(const Settings& settings);

// A command with the places that its settings have in it: `{micro}`, `{accumulate}`, `{resume}`, or
// the flags that the program is known for.
class CommandTemplate {
 public:
  // `given`: what was typed for --settings; the flags of the command fill in what it leaves open.
  // Fails where a placeholder has no value.
  static Result<CommandTemplate> make(std::vector<std::string> argv, const Settings& given,
                                      const knowledge::TrainerFlags& flags);

  const Settings& initial() const { return initial_; }
  // Whether a smaller micro changes the command at all.
  bool takes_micro() const { return takes_micro_; }
  // The command of an attempt; `resumes`: it is not the first one.
  std::vector<std::string> fill_in(const Settings& settings, bool resumes) const;

 private:
  std::vector<std::string> argv_;
  Settings initial_;
  bool takes_micro_ = false;
  // How flags stand in argv_ is the implementation's own.
};

}  // namespace headroom::supervisor
