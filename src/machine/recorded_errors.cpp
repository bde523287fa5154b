// SPDX-License-Identifier: Apache-2.0
// The read errors that a captured machine's MANIFEST.json records.
#include "base/document.h"
#include "base/text.h"
#include "machine/files.h"

namespace headroom::machine {
namespace {

Errc code_of(const Json& reason) {
  const std::string text = reason.is_string() ? to_lower(reason.get<std::string>()) : "eperm";
  const bool refused = text.find("perm") != std::string::npos ||
                       text.find("eacces") != std::string::npos ||
                       text.find("denied") != std::string::npos;
  return refused ? Errc::no_permission : Errc::io;
}

void add(std::map<std::string, Errc>& errors, const Json& path, const Json& reason) {
  if (!path.is_string()) return;
  std::string name = path.get<std::string>();
  name.erase(0, name.find_first_not_of('/'));
  if (!name.empty()) errors[name] = code_of(reason);
}

}  // namespace

std::map<std::string, Errc> parse_recorded_errors(std::string_view manifest) {
  std::map<std::string, Errc> errors;
  if (manifest.find("\"read_errors\"") == std::string_view::npos) return errors;
  const auto document = parse_json(manifest);
  if (!document || !document->is_object()) return errors;
  const Json list = document->value("read_errors", Json());
  if (list.is_object()) {
    for (const auto& [path, reason] : list.items()) add(errors, path, reason);
  }
  if (!list.is_array()) return errors;
  for (const Json& entry : list) {
    if (entry.is_string()) add(errors, entry, Json());
    if (entry.is_object()) {
      add(errors, entry.value("path", Json()), entry.value("error", Json()));
    }
  }
  return errors;
}

}  // namespace headroom::machine
