// SPDX-License-Identifier: Apache-2.0
// The part of a captured machine that no folder can hold, as text: MANIFEST.json.
#include <array>

#include "base/document.h"
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

constexpr std::array all_codes{Errc::not_found,   Errc::no_permission,  Errc::invalid,
                               Errc::unsupported, Errc::out_of_memory,  Errc::no_space,
                               Errc::io,          Errc::not_this_system};

std::string text_of(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

Error to_error(const Json& recorded) {
  Error error{Errc::io, text_of(recorded, "message"), ""};
  for (const Errc code : all_codes) {
    if (to_string(code) == text_of(recorded, "code")) error.code = code;
  }
  return error;
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
  const Json unanswered = recorded.value("unanswered", Json());
  if (!unanswered.is_object()) return manifest;
  for (const auto& [question, error] : unanswered.items()) {
    if (error.is_object()) manifest.unanswered[question] = to_error(error);
  }
  return manifest;
}

Json to_manifest(const Recording& recording) {
  Json unanswered = Json::object();
  for (const auto& [question, error] : recording.unanswered) {
    unanswered[question] = {{"code", to_string(error.code)}, {"message", error.message}};
  }
  return {{"read_errors", Json(recording.refused)}, {"recorded", {{"unanswered", unanswered}}}};
}

}  // namespace headroom::machine
