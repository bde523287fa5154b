// SPDX-License-Identifier: Apache-2.0
// What a training run prints of its settings, line by line. Sources: hiyouga/LLaMA-Factory
// (src/llamafactory/model/, hparams/parser.py) and axolotl-ai-cloud/axolotl
// (src/axolotl/cli/config.py). The forms of transformers, PEFT and Unsloth are those of logs that
// people posted, not checked against each release.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "run/training_arguments.h"

namespace headroom::run {

// A JSON object that is printed over several lines.
class PrintedObject {
 public:
  bool is_open() const { return depth_ > 0; }
  std::uint64_t line() const { return line_; }  // Its first.
  void begin(std::uint64_t line);
  // True once it is whole. One that grows too long is given up.
  bool take(std::string_view text);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::uint64_t line_ = 0;
  std::uint64_t depth_ = 0;
};

struct PrintedCount {
  std::uint64_t count = 0;
  std::uint64_t line = 0;
};

struct PrintedModel {
  std::string text;  // A name, a folder, or a config as JSON.
  std::uint64_t line = 0;
};

// A setting, by the names that programs have for it.
struct PrintedSetting {
  GivenArgument given;                  // Named as Trainer does; no name: it has none for it.
  std::string_view llama_factory;       // Likewise LLaMA-Factory's.
  std::string_view llama_factory_word;  // Its own word for the value; empty: the same.
};

class TrainingLines {
 public:
  // `whole` is a line, `text` the same without what loggers put in front of it.
  void take(std::uint64_t line, std::string_view whole, std::string_view text);

  // Whether a run of training was seen.
  bool is_there() const { return seen_; }

  std::vector<PrintedSetting> settings;
  std::optional<PrintedModel> config;     // As it was printed.
  std::optional<PrintedModel> named;      // The place of the files that were loaded.
  std::optional<PrintedModel> axolotl;    // Its resolved settings, as JSON.
  std::optional<PrintedCount> trainable;  // Parameters that are trained …
  std::optional<PrintedCount> all;        // … of so many, adapters among them.
  std::optional<PrintedCount> total;      // Samples of a step, over all processes.
  std::optional<PrintedCount> half;       // Autocast is on; its type is not told.
  std::optional<PrintedCount> unsloth;
  bool is_llama_factory = false;

 private:
  void take_object(std::uint64_t line, std::string_view text);
  void take_arguments(std::uint64_t line, std::string_view text);
  void take_counts(std::uint64_t line, std::string_view text);
  void take_model(std::uint64_t line, std::string_view text);
  void take_rules(std::uint64_t line, std::string_view text);
  void take_adapters(std::uint64_t line, std::string_view text);

  bool seen_ = false;
  PrintedObject object_;
  bool object_is_axolotl_ = false;
  bool expects_axolotl_ = false;      // The line before ended with "config:".
  std::uint64_t argument_lines_ = 0;  // Of TrainingArguments that may still come.
};

}  // namespace headroom::run
