// SPDX-License-Identifier: Apache-2.0
#include "proof/step_lines.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include "proof/step_kinds.h"
#include "proof/wrong_step.h"

namespace headroom::proof {
namespace {

constexpr std::string_view prefix = "headroom-step: ";
constexpr std::size_t longest_line = 64 << 10;
constexpr std::size_t longest_text = 1000;  // Bytes; what a person reads is shorter.
constexpr std::size_t most_devices = 64;
constexpr std::size_t most_frameworks = 8;
constexpr std::size_t most_training_steps = 1'000'000;
constexpr std::size_t most_told_together = 10'000;
constexpr std::size_t most_soak_points = 100'000;

std::string text_of(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>().substr(0, longest_text)
                                               : "";
}

// Finite, and not below 0.
std::optional<double> size_of(const Json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_number()) return std::nullopt;
  const double value = at->get<double>();
  return std::isfinite(value) && value >= 0 ? std::optional(value) : std::nullopt;
}

std::uint64_t count_of(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number_unsigned() ? at->get<std::uint64_t>() : 0;
}

std::optional<std::string> text_if_any(const Json& object, const char* key) {
  std::string text = text_of(object, key);
  return text.empty() ? std::nullopt : std::optional(std::move(text));
}

StepResult result_of(const Json& line, const std::string& name) {
  StepResult result;
  result.name = name;
  const auto ok = line.find("ok");
  if (ok != line.end() && ok->is_boolean()) result.ok = ok->get<bool>();
  const auto figure = line.find("figure");
  if (figure != line.end() && figure->is_number() && std::isfinite(figure->get<double>())) {
    result.figure = figure->get<double>();
  }
  result.unit = text_of(line, "unit");
  result.detail = text_of(line, "detail");
  if (result.ok && !*result.ok) result.cause = cause_of_kind(text_of(line, "kind"), result);
  return result;
}

std::vector<SeenDevice> devices_of(const Json& list) {
  std::vector<SeenDevice> devices;
  for (const Json& one : list) {
    if (!one.is_object() || devices.size() >= most_devices) continue;
    devices.push_back({text_of(one, "device"), text_of(one, "name"), text_if_any(one, "pci"),
                       text_if_any(one, "target"), count_of(one, "free"), count_of(one, "total")});
  }
  return devices;
}

}  // namespace

void StepLines::feed(std::string_view piece) {
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    const bool is_whole = end != std::string_view::npos;
    line_ += piece.substr(0, is_whole ? end + 1 : end);
    if (is_whole) {
      take(std::exchange(line_, {}));
      is_too_long_ = false;
      piece.remove_prefix(end + 1);
    } else {
      // What is so long is none of ours: it is passed on as it comes.
      if (is_too_long_ || line_.size() > longest_line) {
        is_too_long_ = true;
        pass_on(std::exchange(line_, {}));
      }
      return;
    }
  }
}

void StepLines::lose() {
  pass_on(std::exchange(line_, {}) + "\n");
  is_too_long_ = true;
}

void StepLines::pass_on(const std::string& text) const {
  if (others_) others_(text);
}

void StepLines::take(const std::string& line) {
  if (is_too_long_ || !line.starts_with(prefix)) {
    if (is_too_long_ || line != "\n") pass_on(line);
    return;
  }
  const Json json = Json::parse(std::string_view(line).substr(prefix.size()), nullptr, false);
  if (!json.is_object()) return;
  const std::string begun = text_of(json, "begin");
  const std::string ended = text_of(json, "step");
  if (find_step(begun) != nullptr && !is_done(begun)) {
    running_ = begun;
    ++progress_;
  } else if (!ended.empty() && ended == running_) {
    results_.push_back(result_of(json, ended));
    running_.clear();
    ++progress_;
  } else if (const auto list = json.find("devices"); list != json.end() && list->is_array()) {
    devices_ = devices_of(*list);
    version_ = text_of(json, "version");
    running_.clear();
    ++progress_;
  } else if (take_progress(json) || take_soak(json) || take_together(json) ||
             take_frameworks(json)) {
    ++progress_;
  }
}

// What goes on for ever is no progress.
bool StepLines::is_done(const std::string& step) const {
  return std::any_of(results_.begin(), results_.end(),
                     [&step](const StepResult& result) { return result.name == step; });
}

bool StepLines::take_progress(const Json& line) {
  const auto told = line.find("progress");
  if (running_ != training_step || told == line.end() || !told->is_object()) return false;
  const auto seconds = size_of(*told, "seconds");
  const std::uint64_t done = training_.step_s.size();
  if (!seconds || count_of(*told, "steps") != done + 1 || done >= most_training_steps) return false;
  const auto loss = told->find("loss");
  const bool is_number =
      loss != told->end() && loss->is_number() && std::isfinite(loss->get<double>());
  training_.last_loss = is_number ? std::optional(loss->get<double>()) : std::nullopt;
  if (done == 0) training_.first_loss = training_.last_loss;
  training_.step_s.push_back(*seconds);
  const std::uint64_t peak = count_of(*told, "peak_bytes");
  if (peak <= training_.peak_bytes) return true;
  training_.peak_bytes = peak;
  training_.peak_by = text_of(*told, "peak_by");
  return true;
}

// {"soak": {"at": 61.5, "seconds": 0.0023}}; without seconds where the load did something else.
bool StepLines::take_soak(const Json& line) {
  const auto told = line.find("soak");
  if (running_ != soak_step || told == line.end() || !told->is_object()) return false;
  const auto at = size_of(*told, "at");
  if (!at || *at <= soak_at_s_) return false;
  soak_at_s_ = *at;
  const auto seconds = size_of(*told, "seconds");
  if (seconds && *seconds > 0 && soak_.size() < most_soak_points) soak_.push_back({*at, *seconds});
  return true;
}

// {"together": {"at": "rank 1: joining"}}, where one of several ranks is.
bool StepLines::take_together(const Json& line) {
  const auto told = line.find("together");
  if (running_.empty() || told == line.end() || !told->is_object()) return false;
  return ++told_together_ <= most_told_together;
}

bool StepLines::take_frameworks(const Json& line) {
  const auto list = line.find("frameworks");
  if (list == line.end() || !list->is_array() || frameworks_) return false;
  frameworks_.emplace();
  for (const Json& one : *list) {
    if (!one.is_string() || frameworks_->size() >= most_frameworks) continue;
    frameworks_->push_back(one.get<std::string>().substr(0, longest_text));
  }
  running_.clear();
  return true;
}

}  // namespace headroom::proof
