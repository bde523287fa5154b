// SPDX-License-Identifier: Apache-2.0
#include "run/training_recipe.h"

#include <fmt/format.h>

#include "base/document.h"
#include "machine/user_files.h"
#include "yaml/tree.h"

namespace headroom::run {
namespace {

// "{rope: false}", of a table without tables and lists in it.
std::string flow_of(const YamlNode& table) {
  std::string text;
  for (const YamlEntry& entry : table.entries) {
    if (entry.value.kind != YamlNode::Kind::scalar) return "";
    const std::string quoted = Json(entry.value.value).dump();
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", Json(entry.key.value).dump(),
                        entry.value.plain ? entry.value.value : quoted);
  }
  return "{" + text + "}";
}

GivenArgument to_argument(const YamlEntry& entry) {
  GivenArgument given{entry.key.value, {}};
  if (entry.value.kind == YamlNode::Kind::scalar) {
    given.values.push_back(entry.value.value);
  } else if (entry.value.kind == YamlNode::Kind::list) {
    for (const YamlNode& item : entry.value.items)
      if (item.kind == YamlNode::Kind::scalar) given.values.push_back(item.value);
  } else if (entry.value.kind == YamlNode::Kind::map) {
    if (std::string flow = flow_of(entry.value); !flow.empty()) given.values.push_back(flow);
  }
  return given;
}

void add_nested(const YamlNode& table, const std::string& prefix, std::vector<GivenArgument>& all) {
  for (const YamlEntry& entry : table.entries) {
    if (entry.value.is_null()) continue;
    if (entry.value.kind == YamlNode::Kind::map) {
      add_nested(entry.value, prefix + entry.key.value + ".", all);
      continue;
    }
    all.push_back(to_argument(entry));
    all.back().option.insert(0, prefix);
  }
}

Result<std::string> text_of(const std::string& path) {
  auto text = machine::read_file(path);
  if (text) return text;
  Error missing = Error(text.error()).in("the recipe of the command");
  if (missing.next.empty()) missing.next = "name the recipe by its path from this folder";
  return missing;
}

Result<YamlNode> table_in(const std::string& text) {
  auto root = parse_yaml(text);
  Error wrong{Errc::invalid, "expected settings, one a line, found something else",
              "write it as the program reads it: micro_batch_size: 1"};
  if (!root) wrong.message = root.error().message;
  if (!root || root->kind != YamlNode::Kind::map) return wrong;
  return root;
}

}  // namespace

bool is_recipe_name(const std::string& word) {
  return word.ends_with(".yaml") || word.ends_with(".yml") || word.ends_with(".json");
}

Result<std::vector<GivenArgument>> read_recipe(const std::string& path) {
  HEADROOM_TRY(const std::string text, text_of(path));
  auto all = parse_recipe(text);
  if (!all) return std::move(all).error().in(path);
  return all;
}

Result<std::vector<GivenArgument>> read_nested_recipe(const std::string& path) {
  HEADROOM_TRY(const std::string text, text_of(path));
  const auto root = table_in(text);
  if (!root) return Error(root.error()).in(path);
  std::vector<GivenArgument> all;
  add_nested(*root, "", all);
  return all;
}

Result<std::vector<GivenArgument>> parse_recipe(const std::string& text) {
  HEADROOM_TRY(const YamlNode root, table_in(text));
  std::vector<GivenArgument> all;
  for (const YamlEntry& entry : root.entries)
    if (!entry.value.is_null()) all.push_back(to_argument(entry));
  return all;
}

}  // namespace headroom::run
