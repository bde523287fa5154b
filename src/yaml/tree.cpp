// SPDX-License-Identifier: Apache-2.0
#include "yaml/tree.h"

#include <fmt/format.h>
#include <yaml.h>

#include <algorithm>
#include <array>

namespace headroom {
namespace {

constexpr int deepest = 100;

struct Parser {
  Parser() { yaml_parser_initialize(&parser); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;
  ~Parser() { yaml_parser_delete(&parser); }
  yaml_parser_t parser{};
};

struct OwnedEvent {
  OwnedEvent() = default;
  OwnedEvent(const OwnedEvent&) = delete;
  OwnedEvent& operator=(const OwnedEvent&) = delete;
  ~OwnedEvent() { yaml_event_delete(&event); }
  yaml_event_t event{};
};

std::string text_of(const yaml_char_t* text) {
  return text == nullptr ? "" : reinterpret_cast<const char*>(text);
}

class Builder {
 public:
  explicit Builder(std::string_view text) : text_(text) {
    // libyaml counts characters; a byte order mark is none to it.
    std::size_t at = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
    for (; at < text.size(); ++at) {
      if ((static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U) bytes_.push_back(at);
    }
    bytes_.push_back(text.size());
    yaml_parser_set_encoding(&parser_.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_.parser,
                                 reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }

  Result<YamlNode> document() {
    YamlNode root;
    bool has_root = false;
    for (;;) {
      OwnedEvent next;
      HEADROOM_CHECK(read(next.event));
      if (next.event.type == YAML_STREAM_END_EVENT) break;
      if (next.event.type == YAML_DOCUMENT_START_EVENT && has_root) {
        return wrong(next.event.start_mark, "expected one document, found another");
      }
      if (!is_node(next.event.type)) continue;
      HEADROOM_TRY(root, node(next.event, 0));
      has_root = true;
    }
    if (!has_root) return Error{Errc::invalid, "expected a document, found nothing", ""};
    return root;
  }

 private:
  static bool is_node(yaml_event_type_t type) {
    return type == YAML_SCALAR_EVENT || type == YAML_ALIAS_EVENT ||
           type == YAML_MAPPING_START_EVENT || type == YAML_SEQUENCE_START_EVENT;
  }

  static Error wrong(const yaml_mark_t& mark, const std::string& what) {
    return {Errc::invalid, fmt::format("line {}: {}", mark.line + 1, what), "mend the file"};
  }

  Status read(yaml_event_t& event) {
    if (yaml_parser_parse(&parser_.parser, &event) != 0) return Done{};
    const char* problem = parser_.parser.problem;
    return wrong(parser_.parser.problem_mark, problem == nullptr ? "no YAML" : problem);
  }

  std::size_t byte_of(const yaml_mark_t& mark) const {
    return bytes_[std::min(mark.index, bytes_.size() - 1)];
  }

  Result<YamlNode> node(const yaml_event_t& event, int depth) {
    if (depth > deepest) return wrong(event.start_mark, "nested too deeply");
    YamlNode node;
    node.line = event.start_mark.line + 1;
    node.begin = byte_of(event.start_mark);
    node.end = byte_of(event.end_mark);
    if (event.type == YAML_ALIAS_EVENT) {
      node.kind = YamlNode::Kind::alias;
      node.value = text_of(event.data.alias.anchor);
      return node;
    }
    if (event.type == YAML_SCALAR_EVENT) return scalar(event, std::move(node));
    const bool is_map = event.type == YAML_MAPPING_START_EVENT;
    const auto& map = event.data.mapping_start;
    const auto& list = event.data.sequence_start;
    node.kind = is_map ? YamlNode::Kind::map : YamlNode::Kind::list;
    node.anchor = text_of(is_map ? map.anchor : list.anchor);
    node.tag = text_of(is_map ? map.tag : list.tag);
    node.flow =
        is_map ? map.style == YAML_FLOW_MAPPING_STYLE : list.style == YAML_FLOW_SEQUENCE_STYLE;
    HEADROOM_CHECK(is_map ? fill_map(node, depth) : fill_list(node, depth));
    return node;
  }

  static YamlNode scalar(const yaml_event_t& event, YamlNode node) {
    const auto& scalar = event.data.scalar;
    node.value.assign(reinterpret_cast<const char*>(scalar.value), scalar.length);
    node.plain = scalar.style == YAML_PLAIN_SCALAR_STYLE;
    node.anchor = text_of(scalar.anchor);
    node.tag = text_of(scalar.tag);
    return node;
  }

  Status fill_map(YamlNode& map, int depth) {
    for (;;) {
      OwnedEvent first;
      HEADROOM_CHECK(read(first.event));
      if (first.event.type == YAML_MAPPING_END_EVENT) return end(map, first.event);
      HEADROOM_TRY(YamlNode key, node(first.event, depth + 1));
      const bool twice = key.value != "<<" && map.find(key.value) != nullptr;
      if (key.kind == YamlNode::Kind::scalar && twice) {
        return wrong(first.event.start_mark,
                     fmt::format("the key {} stands here twice", key.value));
      }
      OwnedEvent second;
      HEADROOM_CHECK(read(second.event));
      HEADROOM_TRY(YamlNode value, node(second.event, depth + 1));
      map.entries.push_back({std::move(key), std::move(value)});
    }
  }

  Status fill_list(YamlNode& list, int depth) {
    for (;;) {
      OwnedEvent next;
      HEADROOM_CHECK(read(next.event));
      if (next.event.type == YAML_SEQUENCE_END_EVENT) return end(list, next.event);
      HEADROOM_TRY(YamlNode item, node(next.event, depth + 1));
      list.items.push_back(std::move(item));
    }
  }

  // The event that ends a block stands where the next thing begins.
  Status end(YamlNode& node, const yaml_event_t& event) const {
    if (node.flow) {
      node.end = byte_of(event.end_mark);
    } else if (!node.entries.empty()) {
      node.end = std::max(node.entries.back().key.end, node.entries.back().value.end);
    } else if (!node.items.empty()) {
      node.end = node.items.back().end;
    }
    return Done{};
  }

  std::string_view text_;
  std::vector<std::size_t> bytes_;  // Of each character, and the end.
  Parser parser_;
};

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const auto& entry) {
    return entry.key.kind == Kind::scalar && entry.key.value == key;
  });
  return found == entries.end() ? nullptr : &found->value;
}

bool YamlNode::is_null() const {
  static constexpr std::array<std::string_view, 5> words = {"", "~", "null", "Null", "NULL"};
  return kind == Kind::scalar && plain &&
         std::find(words.begin(), words.end(), value) != words.end();
}

Result<YamlNode> parse_yaml(std::string_view text) {
  return Builder(text).document();
}

std::string meaning_of(const YamlNode& node) {
  std::string out = node.tag.empty() ? "" : node.tag + " ";
  switch (node.kind) {
    case YamlNode::Kind::alias:
      return out + "*" + node.value;
    case YamlNode::Kind::scalar:
      return out + (node.plain ? "plain " : "text ") + quoted(node.value);
    case YamlNode::Kind::map:
      out += "{";
      for (const auto& [key, value] : node.entries)
        out += meaning_of(key) + ":" + meaning_of(value) + ",";
      return out + "}";
    case YamlNode::Kind::list:
      out += "[";
      for (const YamlNode& item : node.items) out += meaning_of(item) + ",";
      return out + "]";
  }
  return out;
}

}  // namespace headroom
