// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/told_lines.h"

#include <algorithm>
#include <utility>

#include "findings/causes/recovery.h"

namespace headroom::findings {

using logs::Observation;

namespace {

// Whoever writes more sentences than this writes of more than one failure, and of plans.
constexpr std::size_t most_told = 40;

}  // namespace

std::vector<const Observation*> told_lines(const logs::Observations& log,
                                           std::string_view signature) {
  const auto place = [](const Observation* one) { return std::pair(one->log, one->line); };
  std::vector<const Observation*> lines = log.of(signature);
  const auto sentences = log.of("sentence");
  if (sentences.size() > most_told) return lines;
  for (const Observation* sentence : sentences) {
    const auto same = [&](const Observation* one) { return place(one) == place(sentence); };
    if (std::any_of(lines.begin(), lines.end(), same)) continue;
    if (!is_printed_line(log, *sentence)) lines.push_back(sentence);
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [&](const auto* one, const auto* other) { return place(one) < place(other); });
  return lines;
}

bool is_printed_line(const logs::Observations& log, const Observation& line) {
  return std::any_of(log.all().begin(), log.all().end(), [&](const Observation& one) {
    if (one.log != line.log || one.line != line.line) return false;
    const auto role = one.signature->role;
    const bool known = role == knowledge::Role::failure || role == knowledge::Role::noise ||
                       role == knowledge::Role::consequence || role == knowledge::Role::command;
    const bool certain = one.signature->origin.certainty <= knowledge::Certainty::measured;
    return (known && certain) || is_command(one);
  });
}

std::vector<const Observation*> told_lines_of_versions(const logs::Observations& log) {
  const auto place_of = [](const Observation* line) { return std::pair(line->log, line->line); };
  auto lines = told_lines(log, "told-outcome");
  for (const Observation* rate : told_lines(log, "told-rate")) {
    const bool known = std::any_of(lines.begin(), lines.end(), [&](const Observation* one) {
      return place_of(one) == place_of(rate);
    });
    if (!known) lines.push_back(rate);
  }
  std::stable_sort(lines.begin(), lines.end(), [&](const auto* one, const auto* other) {
    return place_of(one) < place_of(other);
  });
  return lines;
}

}  // namespace headroom::findings
