// SPDX-License-Identifier: Apache-2.0
#include "proof/step_lines.h"

#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include "proof/step_kinds.h"
#include "proof/wrong_step.h"

namespace headroom::proof {
namespace {

using Json = nlohmann::json;

constexpr std::string_view prefix = "headroom-step: ";
constexpr std::size_t longest_line = 64 << 10;

std::string text_of(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
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
    if (!one.is_object()) continue;
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
  if (find_step(begun) != nullptr) {
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
  }
}

}  // namespace headroom::proof
