// SPDX-License-Identifier: Apache-2.0
// What a training program was given, on its way into a job: each setting with where it came from,
// so that the answer can say what was taken, what was assumed and what was left out.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "run/training_arguments.h"
#include "run/training_command.h"

namespace headroom::run {

// How a program writes its settings down.
struct Dialect {
  std::span<const Argument> arguments;
  // Settings that memory depends on and that are not planned; read as "leave out" where they are
  // on.
  std::span<const std::string_view> left_out;
  // Settings that memory does not depend on: nothing is said of them.
  std::span<const std::string_view> beside_the_point;
};

class TrainingSettings {
 public:
  // Of a setting that comes again the last one holds. Fails as value_of() does, and where the job
  // is spread over processes by DeepSpeed or FSDP.
  Result<Done> read(const std::vector<GivenArgument>& all, const Dialect& dialect);

  bool has(const std::string& key) const { return found_.contains(key); }
  bool is_set(const std::string& key) const;          // It is there, and true.
  std::string word(const std::string& key) const;     // Its text; empty: not there, or no text.
  GivenArgument given(const std::string& key) const;  // For an error about it. It is there.
  const Json& value(const std::string& key) const { return found_.at(key).value; }  // It is there.

  // Puts `value` into the job, as taken from the setting `from`, which is there.
  void take(const std::string& key, const Json& value, const std::string& from);
  // Those whose key is one of the job's, as they are.
  void take_the_rest();
  // The model by its name, its folder, or its config as JSON text. Fails, with `next`, where it is
  // not there.
  Result<Done> take_model(std::string_view name, std::string next);
  // `type` ("bf16") for what is held, and `cast` for what autocast computes in; empty: no autocast.
  // Each from the setting that says so; empty: nobody does.
  void take_types(const std::string& held, const std::string& held_from, const std::string& cast,
                  const std::string& cast_from);
  void assume(const std::string& key, const Json& value, const std::string& words);
  void assume(const std::string& words) { assumed_.push_back(words); }
  // The program's default, where the setting `key` is not there.
  void assume_unless_given(const std::string& key, const Json& value, const std::string& words) {
    if (!has(key)) assume(key, value, words);
  }
  void leave_out(const std::string& option) { left_out_.push_back(option); }

  // `where`: "the command", "axolotl.yml".
  TrainingCommand finish(const std::string& where) &&;

 private:
  struct Found {
    Json value;
    std::string option;
  };
  std::map<std::string, Found> found_;  // By the key of the dialect's arguments.
  std::vector<std::string> taken_, assumed_, unread_, left_out_;
  std::size_t unread_in_log_ = 0;
  TrainingCommand command_;
};

// DeepSpeed or FSDP by `option`, which is not planned.
Error spread_over_processes(const std::string& option);

// "bfloat16" → "bf16", as PyTorch and these programs name types; empty: no such type.
std::string type_named(std::string_view name);

}  // namespace headroom::run
