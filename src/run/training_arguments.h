// SPDX-License-Identifier: Apache-2.0
// Arguments as training programs take them, typed behind a command or written into its recipe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/result.h"

namespace headroom::run {

enum class ArgumentKind : std::uint8_t { number, real, word, words, yes, table };

// What a program calls an argument, and where it belongs.
struct Argument {
  std::string_view name;  // Small letters and "_"; typed with "-" it is the same.
  std::string_view key;   // Of the job. Without a "." it is read together with others.
  ArgumentKind kind = ArgumentKind::number;
};

struct GivenArgument {
  std::string option;               // As it was written, with its dashes if it has some.
  std::vector<std::string> values;  // Empty of a switch.
  std::string name = {};            // Its Argument's, where `option` is not that; or empty.
  std::uint64_t line = 0;           // Of a log; 0: it is from none.

  // How notes and messages call it: "--lora_r", "n_ctx (line 12)".
  std::string place() const;
};

// "--lora-r" → "lora_r"
std::string bare_name(std::string_view option);

// The options among the words from the one numbered `from`, each with the values behind it.
std::vector<GivenArgument> split_arguments(const std::vector<std::string>& words, std::size_t from);

// "--lora_r: expected a whole number, found "many""
Error wrong_value(const GivenArgument& given, std::string_view wanted);

// A number, text, a list of texts, a bool, or a table of bools, which is written as JSON or as
// Python prints it. Fails where the value is not of that kind.
Result<Json> value_of(const GivenArgument& given, ArgumentKind kind);

}  // namespace headroom::run
