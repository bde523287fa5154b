// SPDX-License-Identifier: Apache-2.0
#include "deploy/answer.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cmath>

#include "base/document.h"
#include "base/json_text.h"
#include "base/shell_quote.h"
#include "base/text.h"
#include "deploy/json_compare.h"

namespace headroom::deploy {
namespace {

constexpr std::size_t shown_max = 200;  // Of an answer, that much is shown.

std::string shown(std::string_view text) {
  if (text.size() <= shown_max) return std::string(text);
  return std::string(text.substr(0, shown_max)) + "…";
}

Fault fault(const Smoke& smoke, Fault::Kind kind, std::string message, std::string_view text) {
  return {kind, std::move(message), describe(smoke), shown(text)};
}

std::optional<Fault> judge_end(const Smoke& smoke, const Answer& answer) {
  const std::string detail = answer.detail.empty() ? "" : ": " + answer.detail;
  if (answer.end == Answer::End::timed_out) {
    return fault(
        smoke, Fault::Kind::no_answer,
        fmt::format("expected an answer within {} s, found none{}", smoke.timeout_s, detail),
        answer.body);
  }
  if (answer.end == Answer::End::transport) {
    return fault(smoke, Fault::Kind::failed,
                 fmt::format("expected an answer, the connection failed{}", detail), answer.body);
  }
  const bool is_request = smoke.request.has_value();
  const auto wanted = is_request ? static_cast<int>(smoke.expect_status) : 0;
  if (answer.status == wanted) return std::nullopt;
  return fault(smoke, Fault::Kind::failed,
               fmt::format("expected {} {}, found {}{}", is_request ? "status" : "exit code",
                           wanted, answer.status, detail),
               answer.body);
}

std::optional<Fault> judge_values(const Smoke& smoke, const Answer& answer) {
  if (smoke.expect_json.empty()) return std::nullopt;
  const auto document = parse_json(answer.body);
  if (!document) {
    return fault(smoke, Fault::Kind::wrong,
                 "expected an answer in JSON: " + document.error().message, answer.body);
  }
  for (const ExpectedValue& expected : smoke.expect_json) {
    const Json* found = value_at(*document, expected.pointer);
    if (found == nullptr) {
      return fault(
          smoke, Fault::Kind::wrong,
          fmt::format("expected {} at {}, found nothing there", expected.json, expected.pointer),
          answer.body);
    }
    const auto wanted = parse_json(expected.json);
    if (!wanted) return fault(smoke, Fault::Kind::wrong, wanted.error().message, expected.json);
    if (compare_json(*wanted, *found, {smoke.tolerance, {}}).empty()) continue;
    return fault(smoke, Fault::Kind::wrong,
                 fmt::format("expected {} at {}, found {}", expected.json, expected.pointer,
                             shown(to_json_text(*found))),
                 answer.body);
  }
  return std::nullopt;
}

std::optional<Fault> judge_text(const Smoke& smoke, const Answer& answer) {
  if (!smoke.expect_text) return std::nullopt;
  RE2::Options options;
  options.set_log_errors(false);
  const RE2 pattern(*smoke.expect_text, options);
  if (pattern.ok() && RE2::PartialMatch(answer.body, pattern)) return std::nullopt;
  return fault(smoke, Fault::Kind::wrong,
               fmt::format("expected a match of {}, found none", *smoke.expect_text), answer.body);
}

}  // namespace

std::optional<Fault> judge_answer(const Smoke& smoke, const Answer& answer,
                                  const Answer* baseline) {
  if (auto found = judge_end(smoke, answer)) return found;
  if (auto found = judge_values(smoke, answer)) return found;
  if (auto found = judge_text(smoke, answer)) return found;
  if (!smoke.same_answers || baseline == nullptr) return std::nullopt;
  const std::string differs = difference(smoke, baseline->body, answer.body);
  if (differs.empty()) return std::nullopt;
  return fault(smoke, Fault::Kind::wrong,
               "expected the same answer as from the old configuration; " + differs, answer.body);
}

std::optional<Fault> judge_repetition(const Smoke& smoke, const Answer& answer,
                                      const Answer& earlier) {
  if (!smoke.same_answers) return std::nullopt;
  const std::string differs = difference(smoke, earlier.body, answer.body);
  if (differs.empty()) return std::nullopt;
  return fault(
      smoke, Fault::Kind::wrong,
      "same_answers needs a service that gives the same answer each time, and this one does not: " +
          differs + "; list what varies in smoke.ignore, or raise smoke.tolerance",
      answer.body);
}

std::string difference(const Smoke& smoke, std::string_view baseline, std::string_view candidate) {
  if (baseline == candidate) return "";
  const auto before = parse_json(baseline);
  const auto after = parse_json(candidate);
  if (before && after) return compare_json(*before, *after, {smoke.tolerance, smoke.ignore});
  if (before) return fmt::format("expected JSON, found {}", shown(candidate));
  return fmt::format("expected {}, found {}", shown(baseline), shown(candidate));
}

std::optional<double> SmokeRun::median_ms() const {
  if (ms.empty()) return std::nullopt;
  std::vector<double> sorted = ms;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  if (sorted.size() % 2 == 1) return sorted[middle];
  return (sorted[middle - 1] + sorted[middle]) / 2;
}

std::string describe(const Smoke& smoke) {
  if (smoke.request) return smoke.request->method + " " + smoke.request->url;
  return shell_line(smoke.command);
}

}  // namespace headroom::deploy
