// SPDX-License-Identifier: Apache-2.0
#include "report/explain_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/document.h"
#include "base/text.h"
#include "report/style.h"

namespace headroom::report {
namespace {

using estimate::Dimension;
using estimate::Reading;
using estimate::TensorMatch;

constexpr std::size_t most_shown = 8;

template <class Visit>
void for_each_dimension(const estimate::JobDimensions& known, Visit visit) {
  for (std::size_t i = 0; i < estimate::dimension_count; ++i) {
    const auto dimension = static_cast<Dimension>(i);
    for (const Reading& reading : known.of(dimension)) visit(dimension, reading);
  }
}

// With more decimals than the message had.
std::string exact(std::uint64_t bytes) {
  const auto amount = static_cast<double>(bytes);
  if (bytes >= (1_GiB).value) return fmt::format("{:.4f} GiB", amount / 1073741824.0);
  if (bytes >= (1_MiB).value) return fmt::format("{:.3f} MiB", amount / 1048576.0);
  return to_string(Bytes{bytes});
}

std::string known_text(const estimate::JobDimensions& known) {
  std::string text = "Known about the job:\n";
  for_each_dimension(known, [&text](Dimension dimension, const Reading& reading) {
    fmt::format_to(std::back_inserter(text), "  {:<20}{:>9}  {}{}\n", to_string(dimension),
                   reading.value, reading.source,
                   reading.doubt > 0 ? ", which may mean something else" : "");
  });
  if (known.compute)
    fmt::format_to(std::back_inserter(text), "  {:<20}{:>9}\n", "type", to_string(*known.compute));
  return text;
}

std::string match_text(const TensorMatch& match, std::size_t width) {
  std::string text = fmt::format("  {}, {}\n    {} = {}\n", match.tensor, match.dtype,
                                 match.formula, exact(match.bytes));
  if (!match.axes.empty()) text += fold(match.axes, "    ", width);
  for (const std::string& assumption : match.assumes) text += fold(assumption, "    ", width);
  return text;
}

std::string nothing_text(const Explanation& explanation) {
  std::string text;
  if (explanation.printed.is_shared_segment()) {
    text = fmt::format(
        "\nPyTorch asks for {} whenever it needs {}, so this size does not identify a tensor.\n",
        to_string(explanation.printed.size),
        explanation.printed.size == 2_MiB ? "up to 1 MiB" : "more than 1 MiB and less than 10 MiB");
  } else {
    text = "\nNo tensor with these dimensions has that size.\n";
  }
  const auto unknown = needed(explanation.known);
  std::vector<std::string> names;
  for (const Dimension dimension : unknown) names.emplace_back(to_string(dimension));
  if (!names.empty())
    text += fmt::format("headroom could name more tensors if it knew: {}.\n", join(names, ", "));
  return text;
}

std::string removal_text(const std::vector<TensorMatch>& matches, std::size_t width) {
  std::string text = "\nTo make it smaller, or to avoid it:\n";
  int number = 1;
  for (const std::string& step : matches.front().removed_by)
    text += fold(step, fmt::format("  {}. ", number++), width);
  return text;
}

std::size_t count_of_rank(const std::vector<TensorMatch>& matches, unsigned rank) {
  return static_cast<std::size_t>(std::count_if(
      matches.begin(), matches.end(), [rank](const TensorMatch& one) { return one.rank == rank; }));
}

std::string matches_text(const std::vector<TensorMatch>& matches, std::size_t width) {
  const std::size_t first = count_of_rank(matches, 0);
  const bool sure = matches.front().doubt < 2;
  std::string text = first > 1 ? fmt::format("\nIt {} one of {} tensors of the same size:\n",
                                             sure ? "is" : "may be", first)
                               : fmt::format("\nIt {}:\n", sure ? "is, most likely" : "may be");
  const std::size_t shown = std::min(matches.size(), std::max(most_shown, first));
  for (std::size_t i = 0; i < shown; ++i) {
    if (i == first) text += "\nLess likely, but with the same size:\n";
    text += match_text(matches[i], width);
  }
  if (shown < matches.size())
    text += fmt::format("  and {} more (--json)\n", matches.size() - shown);
  return text + removal_text(matches, width);
}

}  // namespace

std::string to_text(const Explanation& explanation, std::size_t width) {
  const auto& printed = explanation.printed;
  std::string text = explanation.asked;
  if (printed.precision > 0) {
    text += fmt::format(" stands for a tensor of {} to {}", exact(printed.smallest().value),
                        exact(printed.largest().value));
  }
  text += "\n" + known_text(explanation.known);
  text += explanation.matches.empty() ? nothing_text(explanation)
                                      : matches_text(explanation.matches, width);
  return fit(text, width);
}

Json to_json(const Explanation& explanation) {
  Json matches = Json::array();
  for (const TensorMatch& match : explanation.matches) {
    matches.push_back({{"tensor", match.tensor},
                       {"shape", match.shape},
                       {"dtype", match.dtype},
                       {"bytes", match.bytes},
                       {"error", match.error},
                       {"rank", match.rank},
                       {"doubt", match.doubt},
                       {"formula", match.formula},
                       {"axes", match.axes},
                       {"assumes", match.assumes},
                       {"removed_by", match.removed_by}});
  }
  Json dimensions = Json::array();
  for_each_dimension(explanation.known, [&dimensions](Dimension dimension, const Reading& reading) {
    dimensions.push_back({{"dimension", to_string(dimension)},
                          {"value", reading.value},
                          {"source", reading.source},
                          {"doubt", reading.doubt}});
  });
  Json unknown = Json::array();
  for (const Dimension dimension : needed(explanation.known))
    unknown.push_back(to_string(dimension));
  return {{"schema", "headroom.explain/1"},
          {"size_bytes", explanation.printed.size.value},
          {"precision_bytes", explanation.printed.precision},
          {"shared_segment", explanation.printed.is_shared_segment()},
          {"dimensions", dimensions},
          {"unknown", unknown},
          {"matches", matches}};
}

}  // namespace headroom::report
