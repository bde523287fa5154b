// SPDX-License-Identifier: Apache-2.0
#include "report/run_history.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/document.h"

namespace headroom::report {
namespace {

constexpr std::size_t longest_line = 8192;  // The trainer's have some 300 characters.
constexpr std::uint64_t most_steps = std::uint64_t{1} << 53U;
constexpr double longest_s = 1e12;

// Nothing where it is null (what is not finite is written so), absent or no number.
std::optional<double> number_of(const Json& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::optional<std::uint64_t> count_of(const Json& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end() || !found->is_number_unsigned()) return std::nullopt;
  return found->get<std::uint64_t>();
}

void add_value(ThinnedCurve& curve, std::uint64_t step, const Json& line, const char* key) {
  if (const auto value = number_of(line, key)) curve.add(step, *value);
}

}  // namespace

void RunHistoryReader::add(std::string_view piece) {
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    const std::string_view part = piece.substr(0, end);
    if (is_too_long_ || begun_.size() + part.size() > longest_line) {
      is_too_long_ = true;
      begun_.clear();
    } else {
      begun_.append(part);
    }
    if (end == std::string_view::npos) return;
    add_line(begun_);
    begun_.clear();
    is_too_long_ = false;
    piece.remove_prefix(end + 1);
  }
}

RunHistory RunHistoryReader::finish() {
  add_line(begun_);
  begun_.clear();
  is_too_long_ = false;
  return std::move(history_);
}

void RunHistoryReader::add_line(std::string_view line) {
  if (line.empty() && !is_too_long_) return;
  const auto json = is_too_long_ ? Result<Json>(Json()) : parse_json(line);
  if (!json || !json->is_object() || !add_json(*json)) ++history_.passed_over;
}

bool RunHistoryReader::add_json(const Json& line) {
  const auto step = count_of(line, "step");
  if (!step || *step == 0 || *step > most_steps) return false;
  if (line.contains("evaluation_loss")) return add_evaluation(*step, line);
  return line.contains("loss") && add_step(*step, line);
}

bool RunHistoryReader::add_step(std::uint64_t step, const Json& line) {
  if (step <= history_.last_step) return false;
  add_time(step, line);
  if (history_.first_step == 0) history_.first_step = step;
  history_.last_step = step;
  if (const auto tokens = count_of(line, "tokens"); tokens && *tokens <= most_steps)
    history_.tokens += *tokens;
  add_value(history_.loss, step, line, "loss");
  add_value(history_.tokens_per_s, step, line, "tokens_per_s");
  add_value(history_.live_peak_bytes, step, line, "live_peak_bytes");
  add_value(history_.reserved_peak_bytes, step, line, "reserved_peak_bytes");
  return true;
}

// Every process counts its time from its own start. In one and the same, a step takes no longer
// than the time since the line before says; of a rank that took over from another one it may say a
// little less.
void RunHistoryReader::add_time(std::uint64_t step, const Json& line) {
  const double elapsed = number_of(line, "elapsed_s").value_or(-1);
  if (!(elapsed >= 0 && elapsed < longest_s)) return;
  const double step_s = number_of(line, "step_s").value_or(0);
  constexpr double rounding = 1 - 1e-6;
  const bool is_new_process = history_.first_step != 0 &&
                              elapsed - elapsed_s_ < step_s * rounding &&
                              (elapsed < elapsed_s_ / 2 || elapsed < 1.5 * step_s);
  if (is_new_process) history_.resumed.add(step);
  history_.trained_s += is_new_process ? elapsed : std::max(0.0, elapsed - elapsed_s_);
  elapsed_s_ = elapsed;
}

bool RunHistoryReader::add_evaluation(std::uint64_t step, const Json& line) {
  if (step <= evaluated_) return false;
  evaluated_ = step;
  add_value(history_.evaluation_loss, step, line, "evaluation_loss");
  const auto best = line.find("best");
  if (best != line.end() && *best == true) history_.best.add(step);
  return true;
}

}  // namespace headroom::report
