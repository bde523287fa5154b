// SPDX-License-Identifier: Apache-2.0
// The part of a captured machine that no folder can hold, as text: MANIFEST.json.
#include "base/document.h"
#include "base/text.h"
#include "machine/recording.h"

namespace headroom::machine {
namespace {

void add(std::map<std::string, std::string>& refused, const Json& path, const Json& reason) {
  if (!path.is_string()) return;
  std::string name = path.get<std::string>();
  name.erase(0, name.find_first_not_of('/'));
  if (!name.empty()) refused[name] = reason.is_string() ? reason.get<std::string>() : "EPERM";
}

void add_all(std::map<std::string, std::string>& refused, const Json& list) {
  if (list.is_object()) {
    for (const auto& [path, reason] : list.items()) add(refused, path, reason);
  }
  if (!list.is_array()) return;
  for (const Json& entry : list) {
    if (entry.is_string()) add(refused, entry, Json());
    if (entry.is_object()) {
      add(refused, entry.value("path", Json()), entry.value("error", Json()));
    }
  }
}

}  // namespace

Manifest parse_manifest(std::string_view text) {
  Manifest manifest;
  // A manifest may be long and say neither; then it is not taken apart.
  const auto says = [&](const char* key) { return text.find(key) != std::string_view::npos; };
  if (!says("\"read_errors\"") && !says("\"recorded\"")) return manifest;
  const auto document = parse_json(text);
  if (!document || !document->is_object()) return manifest;
  add_all(manifest.refused, document->value("read_errors", Json()));
  const Json recorded = document->value("recorded", Json());
  if (!recorded.is_object()) return manifest;
  manifest.complete = true;
  manifest.knows_self = recorded.value("knows_self", Json()) == Json(true);
  const Json answers = recorded.value("answers", Json());
  if (!answers.is_object()) return manifest;
  for (const auto& [question, by_path] : answers.items()) {
    if (!by_path.is_object()) continue;
    for (const auto& [path, answer] : by_path.items()) manifest.answers[question][path] = answer;
  }
  return manifest;
}

Json to_manifest(const Recording& recording) {
  return {{"read_errors", Json(recording.refused)},
          {"recorded", {{"knows_self", recording.knows_self}, {"answers", recording.answers}}}};
}

}  // namespace headroom::machine
