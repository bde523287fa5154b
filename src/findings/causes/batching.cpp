// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/batching.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <vector>

#include "base/text.h"
#include "findings/causes/amounts.h"

namespace headroom::findings {
namespace {

using logs::Observation;
using Options = std::map<std::string, std::string>;

// llama.cpp: common/arg.cpp.
constexpr std::array<std::string_view, 10> of_batching = {
    "-b",  "--batch-size",    "-ub", "--ubatch-size", "-t", "--threads",
    "-tb", "--threads-batch", "-np", "--parallel"};

// The whole command, which may go on in the lines below it.
std::string whole(const Observation& command) {
  std::string text = command.text;
  for (const std::string& line : command.output) {
    const std::string_view so_far = trim(text);
    if (!so_far.ends_with('\\')) break;
    text = fmt::format("{} {}", so_far.substr(0, so_far.size() - 1), trim(line));
  }
  return text;
}

// Options with their values, and the other words under "".
Options options_of(const Observation& command) {
  Options options;
  std::string last;
  const std::string text = whole(command);
  for (const std::string_view word : split_words(text)) {
    if (word == "$" || word == "#") continue;
    if (word.size() > 1 && word[0] == '-') {
      last = word;
      options[last];
      continue;
    }
    options[last] += fmt::format("{}{}", options[last].empty() ? "" : " ", word);
    last.clear();
  }
  return options;
}

// The only option of how the work is cut up in which the two differ; nothing if they differ
// otherwise.
std::optional<std::string> only_difference(const Options& one, const Options& other) {
  std::optional<std::string> only;
  if (one.size() != other.size()) return std::nullopt;
  for (const auto& [name, value] : one) {
    const auto same = other.find(name);
    if (same == other.end()) return std::nullopt;
    if (same->second == value) continue;
    if (only || std::find(of_batching.begin(), of_batching.end(), name) == of_batching.end()) {
      return std::nullopt;
    }
    only = name;
  }
  return only;
}

struct Result {
  const Observation* line = nullptr;
  double perplexity = 0;
  Options options;
};

std::vector<Result> results_of(const logs::Observations& log) {
  std::vector<Result> results;
  const auto commands = log.of("perplexity-typed");
  for (const Observation* line : log.of("perplexity-measured")) {
    const Observation* command = nullptr;
    for (const Observation* one : commands) {
      if (one->log == line->log && one->line < line->line) command = one;
    }
    const auto perplexity = number_of(*line, "perplexity");
    if (command != nullptr && perplexity) {
      results.push_back({line, *perplexity, options_of(*command)});
    }
  }
  return results;
}

}  // namespace

BatchingDifference find_difference_by_batching(const logs::Observations& log) {
  constexpr double far_apart = 1.5;
  const std::vector<Result> results = results_of(log);
  for (const Result& worse : results) {
    for (const Result& better : results) {
      if (worse.perplexity < better.perplexity * far_apart) continue;
      const auto option = only_difference(worse.options, better.options);
      if (!option) continue;
      return {worse.line, better.line, fmt::format("{} {}", *option, worse.options.at(*option)),
              fmt::format("{} {}", *option, better.options.at(*option))};
    }
  }
  return {};
}

}  // namespace headroom::findings
