// SPDX-License-Identifier: Apache-2.0
// The settings of a command that decide how much memory it takes, and what becomes of them after an
// out of memory: the micro-batch shrinks and the accumulation grows, so that each optimizer step
// sees the same samples and the mathematics stay as they were.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
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

// The largest micro and accumulate that are read; more than that is a mistake.
inline constexpr std::uint64_t largest_setting = 0xFFFF'FFFF;

// "micro=8,accumulate=4,resume=--resume_from_checkpoint latest": numbers from 1 on; the words of
// resume are split as a shell splits them, and a comma in them stays unless a key follows it. Fails
// with the word that is wrong.
Result<Settings> parse_settings(const std::string& text);

// By `divisor`, the largest divisor of micro that is at most half of it, with micro × accumulate
// kept; by `half`, half of micro. Nothing where micro is unknown, 1 or above largest_setting, and
// where the accumulation would exceed 64 bits.
std::optional<Settings> smaller(const Settings& settings,
                                knowledge::Shrink shrink = knowledge::Shrink::divisor);

// What the configuration file of a command has: values by their keys, as text.
using FileValues = std::map<std::string, std::string, std::less<>>;

// A command with the places that its settings have in it: `{micro}`, `{accumulate}`, `{resume}`, or
// the flags that the program is known for.
class CommandTemplate {
 public:
  // `given`: what was typed for --settings; the flags of the command fill in what it leaves open,
  // and `file` what these leave open: the configuration file that the command names
  // (knowledge::recognise), nothing if it was not read. `{accumulate}` without a value is 1.
  // Fails where another placeholder has no value.
  static Result<CommandTemplate> make(std::vector<std::string> argv, const Settings& given,
                                      const knowledge::TrainerFlags& flags,
                                      const std::optional<FileValues>& file = std::nullopt);

  const Settings& initial() const { return initial_; }
  // Whether a smaller micro changes the command at all.
  bool takes_micro() const { return micro_.is_taken(); }
  // Whether the command takes, and has a known, accumulation that can make up for a smaller micro.
  bool keeps_step() const;
  // What the micro of the command counts: "samples", "layers on the GPU".
  const std::string& unit() const { return unit_; }

  // The settings after an out of memory, by the command's own rule. Where the command takes micro
  // and no accumulation, micro shrinks alone. Nothing as for supervisor::smaller.
  std::optional<Settings> smaller(const Settings& settings) const;
  // The command of an attempt; `resumes`: it is not the first one. A word whose value stays as it
  // was typed stays byte for byte.
  std::vector<std::string> fill_in(const Settings& settings, bool resumes) const;

 private:
  // Where one number stands in the command.
  struct Slot {
    bool placeholder = false;
    std::optional<knowledge::FlagPlace> place;
    std::string added;                  // The name to add it by; empty: it must not be.
    std::optional<std::uint64_t> says;  // What the command means as it was typed.

    bool is_taken() const { return placeholder || place || !added.empty(); }
  };
  using Number = std::optional<std::uint64_t>;

  Slot make_slot(const std::string& placeholder, const std::vector<std::string>& names,
                 bool may_add) const;
  void use_flags(const knowledge::RecognisedCommand& command,
                 const std::optional<FileValues>& file);
  Status use_given(const Settings& given);
  static void write(const Slot& slot, const Number& value, std::vector<std::string>& words);
  static void add(const Slot& slot, const Number& value, std::vector<std::string>& words);

  std::vector<std::string> argv_;
  Settings initial_;
  Slot micro_, accumulate_;
  bool resume_placeholder_ = false;
  knowledge::Shrink shrink_ = knowledge::Shrink::divisor;
  std::string unit_ = "samples";
};

}  // namespace headroom::supervisor
