// SPDX-License-Identifier: Apache-2.0
#include "facts/stated.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/document.h"
#include "base/text.h"

namespace headroom::facts {
namespace {

const std::vector<std::string>& keys() {
  static const std::vector<std::string> all = {
      "vendor",    "gpu",    "gfx",    "vram",   "ram",       "cpu", "rocm",
      "framework", "python", "kernel", "distro", "container", "env", "cmdline"};
  return all;
}

Error wrong(const std::string& path, const std::string& expected, const std::string& found) {
  return {Errc::invalid, fmt::format("{}: expected {}, found {}", path, expected, found),
          "headroom check --help"};
}

}  // namespace

Text Stated::get(std::string_view key) const {
  const auto found = values.find(key);
  if (found == values.end())
    return Text(Missing{Why::not_present, "not stated"}, Source{path, 0, ""});
  return Text(found->second, {path, 0, fmt::format("{}: {}", key, found->second)});
}

Result<Stated> parse_stated(std::string_view json, const std::string& path) {
  const auto document = parse_json(json);
  if (!document) return Error(document.error()).in(path);
  if (!document->is_object()) {
    return wrong(path, "an object with facts", document->type_name());
  }
  Stated stated{path, {}};
  for (const auto& [key, value] : document->items()) {
    if (std::find(keys().begin(), keys().end(), key) == keys().end()) {
      const auto near = nearest(key, keys());
      return wrong(path, near ? "the key " + *near : "one of " + join(keys(), ", "), key);
    }
    if (value.is_null()) continue;
    if (value.is_string()) {
      const std::string text(trim(value.get<std::string>()));
      if (!text.empty()) stated.values[key] = text;
    } else if (value.is_number()) {
      stated.values[key] = value.dump();
    } else {
      return wrong(path, "text or null under " + key, value.type_name());
    }
  }
  return stated;
}

}  // namespace headroom::facts
