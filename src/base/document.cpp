// SPDX-License-Identifier: Apache-2.0
#include "base/document.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <sstream>

#include "base/printable.h"
#include "base/text.h"

namespace headroom {
namespace {

constexpr int max_depth = 100;

// nlohmann's parser builds arrays and objects without recursion but destroys them recursively.
bool too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > max_depth) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

// Past the TOML string whose opening quote stands at `i`: on its closing quote, or at the end.
std::size_t skip_toml_string(std::string_view text, std::size_t i) {
  const char quote = text[i];
  const std::string_view triple = quote == '"' ? "\"\"\"" : "'''";
  const bool is_long = text.substr(i, 3) == triple;
  i += is_long ? 3 : 1;
  for (; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (is_long ? text.substr(i, 3) == triple : text[i] == quote || text[i] == '\n') {
      return is_long ? i + 2 : i;
    }
  }
  return i;
}

// toml++ bounds the nesting of arrays and inline tables itself, but a dotted key makes one table
// for each of its parts, and all of them are destroyed recursively.
bool has_deep_key(std::string_view text) {
  int dots = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
      dots = 0;
    } else if (c == '"' || c == '\'') {
      i = skip_toml_string(text, i);
    } else if (c == '.') {
      if (++dots > max_depth) return true;
    } else if (std::string_view("=,[]{}\n").find(c) != std::string_view::npos) {
      dots = 0;
    }
  }
  return false;
}

Json to_json(const toml::node& node, const std::string& pointer, Document& document) {
  document.lines[pointer] = static_cast<int>(node.source().begin.line);
  if (const auto* table = node.as_table()) {
    Json object = Json::object();
    for (const auto& [key, value] : *table) {
      const std::string name(key.str());
      object[name] = to_json(value, pointer + "/" + name, document);
      document.lines[pointer + "/" + name] = static_cast<int>(key.source().begin.line);
    }
    return object;
  }
  if (const auto* array = node.as_array()) {
    Json list = Json::array();
    for (const toml::node& element : *array) {
      list.push_back(to_json(element, fmt::format("{}/{}", pointer, list.size()), document));
    }
    return list;
  }
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* integer = node.as_integer()) return integer->get();
  if (const auto* number = node.as_floating_point()) return number->get();
  if (const auto* boolean = node.as_boolean()) return boolean->get();
  std::ostringstream date;
  node.visit([&date](const auto& other) {
    if constexpr (toml::is_value<decltype(other)>) date << other.get();
  });
  return date.str();
}

// nlohmann's messages begin with a number of its own: "[json.exception.parse_error.101] ".
std::string_view without_code(std::string_view message) {
  const std::size_t end = message.find("] ");
  return message.starts_with("[json.") && end != std::string_view::npos ? message.substr(end + 2)
                                                                        : message;
}

// What a parser says shows the last word that it read, of any length, and mostly at the end.
std::string shortened(std::string_view message) {
  constexpr std::size_t shown_max = 200;
  if (message.size() <= 2 * shown_max) return std::string(message);
  return printable(message.substr(0, shown_max)) + " … " +
         printable(message.substr(message.size() - shown_max));
}

}  // namespace

std::string Document::place(const std::string& pointer) const {
  const auto found = lines.find(pointer);
  return found == lines.end() ? "" : fmt::format("line {}: ", found->second);
}

Result<Json> parse_json(std::string_view text) {
  if (too_deep(text)) {
    return Error{Errc::invalid,
                 fmt::format("expected JSON nested at most {} deep, found more", max_depth),
                 "take the inner objects and arrays apart"};
  }
  try {
    return Json::parse(text);
  } catch (const Json::exception& problem) {
    return Error{Errc::invalid,
                 fmt::format("not valid JSON: {}", shortened(without_code(problem.what()))),
                 "mend the text at the place named, or check it with: python3 -m json.tool FILE"};
  }
}

Result<Document> parse_toml(std::string_view text) {
  if (has_deep_key(text)) {
    return Error{
        Errc::invalid,
        fmt::format("expected keys of at most {} parts (a.b.c has 3), found more", max_depth),
        "shorten the key; a job's keys have two parts, as in batch.micro"};
  }
  Document document;
  try {
    const toml::table table = toml::parse(text);
    document.value = to_json(table, "", document);
  } catch (const toml::parse_error& problem) {
    return Error{Errc::invalid,
                 fmt::format("line {}, column {}: {}", problem.source().begin.line,
                             problem.source().begin.column, shortened(problem.description())),
                 "mend that line; values are written as in: micro = 4, capacity = \"16GiB\""};
  }
  return document;
}

Result<Document> parse_document(std::string_view text) {
  const std::string_view body = trim(text);
  if (!body.starts_with('{')) return parse_toml(text);
  HEADROOM_TRY(Json value, parse_json(text));
  return Document{std::move(value), {}};
}

}  // namespace headroom
