// SPDX-License-Identifier: Apache-2.0
#include "deploy/yaml_edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace headroom::deploy {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Words that YAML 1.1 or 1.2 reads as something else than text.
bool is_reserved(std::string_view text) {
  static constexpr std::array<std::string_view, 9> words = {"y",     "n",  "yes", "no",  "true",
                                                            "false", "on", "off", "null"};
  return std::find(words.begin(), words.end(), to_lower(text)) != words.end();
}

bool is_safe(std::string_view text) {
  if (text.empty() || (!is_letter(text.front()) && text.front() != '/')) return false;
  if (text.back() == ':' || is_reserved(text)) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') ||
           std::string_view("_./:@-").find(c) != std::string_view::npos;
  });
}

std::string line_end_of(std::string_view text) {
  return text.find("\r\n") != std::string_view::npos ? "\r\n" : "\n";
}

std::string with(std::string_view text, std::size_t begin, std::size_t end,
                 const std::string& what) {
  std::string out(text.substr(0, begin));
  out += what;
  return out += text.substr(end);
}

std::string indentation_at(std::string_view text, std::size_t at) {
  const std::size_t line = text.rfind('\n', at == 0 ? 0 : at - 1);
  const std::size_t begin = at == 0 || line == std::string_view::npos ? 0 : line + 1;
  return std::string(at - begin, ' ');
}

// A new line behind the one that `end` stands in; a block scalar ends behind its line already.
std::string add_line(std::string_view text, std::size_t end, const std::string& line) {
  const std::string stop = line_end_of(text);
  if (end > 0 && text[end - 1] == '\n') return with(text, end, end, line + stop);
  const std::size_t newline = text.find('\n', end);
  if (newline == std::string_view::npos)
    return with(text, text.size(), text.size(), stop + line + stop);
  return with(text, newline + 1, newline + 1, line + stop);
}

// In front of the bracket or brace that ends a flow collection.
std::string add_to_flow(std::string_view text, const YamlNode& node, std::size_t last,
                        const std::string& what) {
  const std::size_t close = node.end - 1;
  if (last == 0) return with(text, close, close, what);
  const bool has_comma = text.substr(last, close - last).find(',') != std::string_view::npos;
  if (has_comma) return with(text, close, close, (text[close - 1] == ' ' ? "" : " ") + what);
  return with(text, last, last, ", " + what);
}

}  // namespace

std::string yaml_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') out += '\\';
    if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string yaml_scalar(std::string_view text) {
  return is_safe(text) ? std::string(text) : yaml_quoted(text);
}

std::string replace_node(std::string_view text, const YamlNode& key, const YamlNode& node,
                         const std::string& value) {
  if (node.kind == YamlNode::Kind::scalar && node.begin != node.end) {
    const bool block_scalar = text[node.begin] == '|' || text[node.begin] == '>';
    if (!block_scalar) return with(text, node.begin, node.end, value);
    return with(text, node.begin, node.end, value + line_end_of(text));
  }
  if (node.kind == YamlNode::Kind::alias || node.flow)
    return with(text, node.begin, node.end, value);
  // A block, or nothing at all, begins behind the colon: what is written stands in one line with
  // it.
  const std::size_t colon = text.find(':', key.end);
  return with(text, colon + 1, std::max(node.end, colon + 1), " " + value);
}

std::string add_entry(std::string_view text, const YamlNode& map, const std::string& key,
                      const std::string& value) {
  const std::string entry = key + ": " + value;
  if (map.flow) {
    const std::size_t last =
        map.entries.empty() ? 0
                            : std::max(map.entries.back().key.end, map.entries.back().value.end);
    return add_to_flow(text, map, last, entry);
  }
  return add_line(text, map.end, indentation_at(text, map.entries.front().key.begin) + entry);
}

std::string add_item(std::string_view text, const YamlNode& list, const std::string& item) {
  if (list.flow)
    return add_to_flow(text, list, list.items.empty() ? 0 : list.items.back().end, item);
  // The list begins at its first dash.
  return add_line(text, list.end, indentation_at(text, list.begin) + "- " + item);
}

}  // namespace headroom::deploy
