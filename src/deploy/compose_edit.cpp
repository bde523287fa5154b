// SPDX-License-Identifier: Apache-2.0
#include "deploy/compose_edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "deploy/unit_edit.h"
#include "deploy/yaml_edit.h"
#include "yaml/tree.h"

namespace headroom::deploy {
namespace {

using Kind = YamlNode::Kind;

Error refuse(const EditTarget& target, const YamlNode* at, const std::string& what) {
  const std::string line = at == nullptr ? "" : fmt::format("line {}: ", at->line);
  return {Errc::unsupported, fmt::format("{}: {}{}", target.file, line, what),
          "edit the file by hand, and name the edited one: [[change]] with = \"…\""};
}

void collect_aliases(const YamlNode& node, std::set<std::string>& names) {
  if (node.kind == Kind::alias) names.insert(node.value);
  for (const auto& [key, value] : node.entries) {
    collect_aliases(key, names);
    collect_aliases(value, names);
  }
  for (const YamlNode& item : node.items) collect_aliases(item, names);
}

// A value in a compose file; '$' stands for a variable there unless it is doubled.
std::string undo_dollars(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == '$' && i + 1 < text.size() && text[i + 1] == '$') ++i;
  }
  return out;
}

std::string with_dollars(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '$' ? std::string("$$") : std::string(1, c);
  return out;
}

std::string scalar(std::string_view text) {
  return yaml_scalar(with_dollars(text));
}

std::string quoted(std::string_view text) {
  return yaml_quoted(with_dollars(text));
}

std::string flow_list(const std::vector<std::string>& words) {
  std::vector<std::string> parts;
  for (const std::string& word : words) parts.push_back(quoted(word));
  return "[" + join(parts, ", ") + "]";
}

const YamlNode* at_path(const YamlNode& service, std::initializer_list<std::string_view> path) {
  const YamlNode* node = &service;
  for (const std::string_view key : path) {
    node = node->find(key);
    if (node == nullptr) return nullptr;
  }
  return node;
}

Result<const YamlNode*> find_service(const EditTarget& target, const YamlNode& root) {
  const YamlNode* services = root.find("services");
  if (services == nullptr || services->kind != Kind::map) {
    return Error{Errc::invalid, target.file + ": expected a map \"services\", found none",
                 "name a compose file of the Compose Specification"};
  }
  const YamlNode* service = services->find(target.service);
  if (service == nullptr) {
    std::vector<std::string> names;
    for (const auto& [key, value] : services->entries) names.push_back(key.value);
    return Error{Errc::not_found,
                 fmt::format("{}: expected a service {}, found {}", target.file, target.service,
                             names.empty() ? "none" : join(names, ", ")),
                 "name one of them in [service] service"};
  }
  if (service->kind != Kind::map || service->entries.empty()) {
    return refuse(target, service,
                  fmt::format("the service {} is not a map of its own", target.service));
  }
  return service;
}

// One edit after the other: each reads the text anew, because the one before moved it.
class Editor {
 public:
  Editor(const EditTarget& target, std::string text) : target_(target), text_(std::move(text)) {}

  std::string take() { return std::move(text_); }

  // A setting that is one value; what others share is put beside it, never into it.
  Status set_value(const std::string& key, const std::string& value) {
    HEADROOM_TRY(const YamlNode* service, reload());
    for (const auto& [name, node] : service->entries) {
      if (name.value != key) continue;
      HEADROOM_CHECK(refuse_shared(node));
      text_ = replace_node(text_, name, node, value);
      return Done{};
    }
    text_ = add_entry(text_, *service, key, value);
    return Done{};
  }

  Status set_variable(const std::string& name, const std::string& value) {
    const std::string key = "environment";
    HEADROOM_TRY(const YamlNode* service, reload());
    HEADROOM_TRY(const YamlNode* environment, own_collection(*service, key));
    if (environment == nullptr) return set_value(key, "{" + name + ": " + quoted(value) + "}");
    if (environment->kind == Kind::map) return set_entry(*environment, name, value);
    for (const YamlNode& item : environment->items) {
      if (item.kind != Kind::scalar || (item.value != name && !item.value.starts_with(name + "=")))
        continue;
      HEADROOM_CHECK(refuse_shared(item));
      text_ = replace_node(text_, item, item, scalar(name + "=" + value));
      return Done{};
    }
    text_ = add_item(text_, *environment, scalar(name + "=" + value));
    return Done{};
  }

  Status add_to_list(const std::string& key, const std::string& value) {
    HEADROOM_TRY(const YamlNode* service, reload());
    HEADROOM_TRY(const YamlNode* list, own_collection(*service, key));
    if (list == nullptr) return set_value(key, flow_list({value}));
    if (list->kind != Kind::list) return refuse(target_, list, key + " is not a list");
    text_ = add_item(text_, *list, quoted(value));
    return Done{};
  }

  Status set_memory(Bytes memory) {
    const std::string size = to_lower(unit_size(memory));
    HEADROOM_TRY(const YamlNode* service, reload());
    const YamlNode* limits = at_path(*service, {"deploy", "resources", "limits"});
    const bool has_own = service->find("mem_limit") != nullptr;
    const YamlNode* old = limits == nullptr ? nullptr : limits->find("memory");
    if (old != nullptr) {
      for (const YamlNode* node : {at_path(*service, {"deploy"}),
                                   at_path(*service, {"deploy", "resources"}), limits, old}) {
        HEADROOM_CHECK(refuse_shared(*node));
      }
      text_ = replace_node(text_, *old, *old, yaml_quoted(size));
      if (!has_own) return Done{};
    }
    return set_value("mem_limit", yaml_quoted(size));
  }

 private:
  Result<const YamlNode*> reload() {
    HEADROOM_TRY(root_, parse_yaml(text_));
    aliases_.clear();
    collect_aliases(root_, aliases_);
    HEADROOM_CHECK(refuse_shared(root_));
    if (const YamlNode* services = root_.find("services")) HEADROOM_CHECK(refuse_shared(*services));
    HEADROOM_TRY(const YamlNode* service, find_service(target_, root_));
    HEADROOM_CHECK(refuse_shared(*service));
    return service;
  }

  Status refuse_shared(const YamlNode& node) const {
    if (node.anchor.empty() || !aliases_.contains(node.anchor)) return Done{};
    return refuse(
        target_, &node,
        fmt::format("other services share it by the anchor &{}, and an edit would change them too",
                    node.anchor));
  }

  // The collection of this service alone; nullptr where there is none, or nothing in it.
  Result<const YamlNode*> own_collection(const YamlNode& service, const std::string& key) const {
    const YamlNode* node = service.find(key);
    if (node == nullptr) {
      const YamlNode* merged = service.find("<<");
      if (merged == nullptr) return nullptr;
      return refuse(
          target_, merged,
          fmt::format("the map merged by << may contain {}, and a key of its own would hide that",
                      key));
    }
    if (node->is_null()) return nullptr;
    if (node->kind == Kind::alias) {
      return refuse(target_, node, fmt::format("{} is shared by the alias *{}", key, node->value));
    }
    if (node->kind == Kind::scalar)
      return refuse(target_, node, key + " is neither a map nor a list");
    HEADROOM_CHECK(refuse_shared(*node));
    return node;
  }

  Status set_entry(const YamlNode& environment, const std::string& name, const std::string& value) {
    for (const auto& [key, node] : environment.entries) {
      if (key.value != name) continue;
      HEADROOM_CHECK(refuse_shared(node));
      text_ = replace_node(text_, key, node, quoted(value));
      return Done{};
    }
    text_ = add_entry(text_, environment, name, quoted(value));
    return Done{};
  }

  const EditTarget& target_;
  std::string text_;
  YamlNode root_;
  std::set<std::string> aliases_;
};

std::vector<std::string> texts_in(const YamlNode* list) {
  std::vector<std::string> texts;
  if (list == nullptr) return texts;
  for (const YamlNode& item : list->items) {
    if (item.kind == Kind::scalar) texts.push_back(undo_dollars(item.value));
  }
  return texts;
}

void read_environment(const YamlNode* node, Settings& settings) {
  if (node == nullptr) return;
  for (const auto& [key, value] : node->entries) {
    if (value.kind == Kind::scalar) settings.environment[key.value] = undo_dollars(value.value);
  }
  for (const std::string& item : texts_in(node)) {
    const std::size_t equals = item.find('=');
    settings.environment[item.substr(0, equals)] =
        equals == std::string::npos ? "" : item.substr(equals + 1);
  }
}

std::optional<Bytes> read_size(const YamlNode* node) {
  if (node == nullptr || node->kind != Kind::scalar) return std::nullopt;
  const auto bytes = parse_bytes(node->value);
  return bytes && bytes->value > 0 ? std::optional<Bytes>(*bytes) : std::nullopt;
}

// The node without what TypedSet can name.
YamlNode without_settings(YamlNode service) {
  static const std::set<std::string> named = {"image",     "environment", "devices",
                                              "group_add", "mem_limit",   "command"};
  std::erase_if(service.entries, [](const auto& entry) { return named.contains(entry.key.value); });
  for (auto& [key, value] : service.entries) {
    if (key.value != "deploy") continue;
    for (auto& [inner_key, resources] : value.entries) {
      if (inner_key.value != "resources") continue;
      for (auto& [limits_key, limits] : resources.entries) {
        if (limits_key.value != "limits") continue;
        std::erase_if(limits.entries,
                      [](const auto& entry) { return entry.key.value == "memory"; });
      }
    }
  }
  return service;
}

Result<YamlNode> parse_compose(const EditTarget& target, std::string_view text) {
  auto root = parse_yaml(text);
  if (!root) return std::move(root).error().in(target.file);
  return root;
}

}  // namespace

Result<std::string> edit_compose(const EditTarget& target, std::string text, const TypedSet& set) {
  HEADROOM_TRY(const Settings now, read_compose(target, text));
  Editor editor(target, std::move(text));
  // No name of an image has a dollar sign: one is a variable of compose's.
  if (set.image) HEADROOM_CHECK(editor.set_value("image", yaml_scalar(*set.image)));
  for (const auto& [name, value] : set.environment)
    HEADROOM_CHECK(editor.set_variable(name, value));
  const auto add = [&](const std::string& key, const std::vector<std::string>& wanted,
                       const std::vector<std::string>& have) -> Status {
    for (const std::string& one : wanted) {
      if (std::find(have.begin(), have.end(), one) != have.end()) continue;
      HEADROOM_CHECK(editor.add_to_list(key, one));
    }
    return Done{};
  };
  HEADROOM_CHECK(add("devices", set.devices, now.devices));
  HEADROOM_CHECK(add("group_add", set.groups, now.groups));
  if (set.memory) HEADROOM_CHECK(editor.set_memory(*set.memory));
  if (set.command) HEADROOM_CHECK(editor.set_value("command", flow_list(*set.command)));
  return editor.take();
}

Settings read_compose_service(const YamlNode& service) {
  Settings settings;
  const YamlNode* image = service.find("image");
  if (image != nullptr && image->kind == Kind::scalar) settings.image = undo_dollars(image->value);
  read_environment(service.find("environment"), settings);
  settings.devices = texts_in(service.find("devices"));
  settings.groups = texts_in(service.find("group_add"));
  settings.memory = read_size(at_path(service, {"deploy", "resources", "limits", "memory"}));
  if (const auto own = read_size(service.find("mem_limit"))) settings.memory = own;
  const YamlNode* command = service.find("command");
  settings.command = texts_in(command);
  if (command != nullptr && command->kind == Kind::scalar && !command->is_null()) {
    for (const auto word : split_words(command->value))
      settings.command.emplace_back(undo_dollars(word));
  }
  return settings;
}

Result<Settings> read_compose(const EditTarget& target, std::string_view text) {
  HEADROOM_TRY(const YamlNode root, parse_compose(target, text));
  HEADROOM_TRY(const YamlNode* service, find_service(target, root));
  return read_compose_service(*service);
}

Result<std::string> rest_of_compose(const EditTarget& target, std::string_view text) {
  HEADROOM_TRY(YamlNode root, parse_compose(target, text));
  for (auto& [key, services] : root.entries) {
    if (key.value != "services") continue;
    for (auto& [name, service] : services.entries) {
      if (name.value == target.service) service = without_settings(std::move(service));
    }
  }
  return meaning_of(root);
}

}  // namespace headroom::deploy
