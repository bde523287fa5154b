// SPDX-License-Identifier: Apache-2.0
#include "deploy/elsewhere.h"

#include <fmt/format.h>

#include <algorithm>

namespace headroom::deploy {
namespace {

using Kind = YamlNode::Kind;

// A name or a path: a value that is there and is one.
std::string text_of(const YamlNode* node) {
  const bool is_text = node != nullptr && node->kind == Kind::scalar && !node->is_null();
  return is_text ? node->value : "";
}

// "extends: NAME", or a map of `service` and perhaps `file`.
Elsewhere find_base(const YamlNode& extends) {
  if (extends.kind == Kind::alias) return {"extends", "", "", "its alias names nothing", true};
  Elsewhere base{"extends"};
  base.service = text_of(extends.kind == Kind::map ? extends.find("service") : &extends);
  if (extends.kind == Kind::map) base.file = text_of(extends.find("file"));
  const bool odd_file = extends.find("file") != nullptr && base.file.empty();
  if (base.service.empty() || odd_file) {
    base.why = "expected a name, or a map with service";
    base.refused = true;
  }
  return base;
}

// One path, or a list of paths and of maps with `path`.
void find_paths(const char* key, const YamlNode& node, std::vector<Elsewhere>& found) {
  const auto add = [&](const YamlNode& item) {
    const bool is_map = item.kind == Kind::map;
    Elsewhere file{key, text_of(is_map ? item.find("path") : &item)};
    if (file.file.empty()) {
      file.why = "expected a path";
    } else {
      file.optional = is_map && text_of(item.find("required")) == "false";
    }
    add_elsewhere({file}, found);
  };
  if (node.kind != Kind::list) return add(node);
  for (const YamlNode& item : node.items) add(item);
}

}  // namespace

std::vector<Elsewhere> find_elsewhere(const YamlNode& service) {
  std::vector<Elsewhere> found;
  for (const auto& [key, value] : service.entries) {
    if (key.value == "extends") {
      add_elsewhere({find_base(value)}, found);
    } else if (key.value == "env_file") {
      find_paths("env_file", value, found);
    } else if (key.value == "<<" || value.kind == Kind::alias) {
      add_elsewhere({{key.value, "", "", "its alias names nothing"}}, found);
    }
  }
  return found;
}

std::vector<Elsewhere> find_included(const YamlNode& root) {
  std::vector<Elsewhere> found;
  if (const YamlNode* include = root.find("include")) find_paths("include", *include, found);
  return found;
}

std::string describe(const Elsewhere& place) {
  std::string name = place.file.empty() ? place.service : place.file;
  if (name.empty()) return fmt::format("{} ({})", place.key, place.why);
  const std::string why = place.why.empty() ? "" : ": " + place.why;
  return fmt::format("{} ({}{})", name, place.key, why);
}

void add_elsewhere(const std::vector<Elsewhere>& more, std::vector<Elsewhere>& places) {
  for (const Elsewhere& one : more) {
    if (places.size() == most_elsewhere) return;
    if (std::find(places.begin(), places.end(), one) == places.end()) places.push_back(one);
  }
}

}  // namespace headroom::deploy
