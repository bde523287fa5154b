// SPDX-License-Identifier: Apache-2.0
// Options of programs that are planned by their own command line (llama.cpp, vLLM): a table of
// their names says how the words of a command, or the keys of a job file, are told apart. What an
// option then means is for each program to say.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/document_fwd.h"
#include "base/result.h"

namespace headroom::estimate {

// `yes` and `no` are switches and may be followed by true or false; `maybe` may be automatic too.
enum class OptionKind : std::uint8_t { text, number, yes, no, maybe };

enum class OptionPlace : std::uint8_t {
  anywhere,
  job,       // Only a key of a job file.
  headroom,  // A key, and --headroom-NAME in a command: the program itself has no such option.
};

struct Option {
  std::string_view name;        // The long one, without its dashes: also the key of a job.
  std::string_view brief = {};  // Behind one dash.
  std::string_view also = {};   // Another long one.
  OptionKind kind = OptionKind::text;
  std::uint64_t most = 0;  // Of a number.
  OptionPlace place = OptionPlace::anywhere;
};

struct OptionTable {
  std::span<const Option> options;
  std::string_view program;          // "vllm serve", in messages.
  std::string_view help;             // What prints its options: "vllm serve --help=all".
  std::string_view variable_prefix;  // "LLAMA_ARG_" before an option's name; empty: none.
  bool takes_equals = false;         // "--name=value" is "--name value".
};

struct GivenOption {
  const Option* option = nullptr;  // In the table.
  std::string spelled;             // As it was typed: "-ngl", "engine.n-gpu-layers".
  std::string value;               // Empty of a switch that stands alone.
};

struct GivenOptions {
  std::vector<GivenOption> known;
  std::vector<std::string> unread;  // Options that the table lacks.
  std::vector<std::string> plain;   // Words that are no option and no option's value.
};

// The words behind a program's own name, with dashes or underscores. Fails on a known option whose
// value is missing.
Result<GivenOptions> split_options(const std::vector<std::string>& words, const OptionTable& table);

// The keys of a job's [engine]. Fails on an unknown one.
Result<GivenOptions> split_options(const Json& engine, const OptionTable& table);

// "-c: expected a whole number, found "many""
Error wrong_option(const OptionTable& table, const GivenOption& given, std::string_view expected);

// A switch's value: true where it stands alone; nothing for what is neither on nor off.
std::optional<bool> parse_switch(std::string_view value);
// "auto" or "-1".
bool is_automatic(std::string_view value);

// The whole of its value, up to option.most; fails with wrong_option.
Result<std::uint64_t> number_of(const OptionTable& table, const GivenOption& given);
// Whether the switch, by its kind, is on; fails likewise.
Result<bool> switch_of(const OptionTable& table, const GivenOption& given);

}  // namespace headroom::estimate
