// SPDX-License-Identifier: Apache-2.0
// A YAML document as a tree whose nodes know the bytes that they stand in. libyaml reads it: its
// events carry the end of each node as well as its beginning, and name anchors and aliases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headroom {

struct YamlEntry;

struct YamlNode {
  enum class Kind : std::uint8_t { scalar, map, list, alias };
  Kind kind = Kind::scalar;
  bool flow = false;     // Of maps and lists: in braces or brackets.
  bool plain = false;    // Of scalars: without quotes, so that its type follows from its text.
  std::string value;     // Of scalars; of an alias the name of its anchor.
  std::string tag;       // As written: "!reset"; empty: none.
  std::string anchor;    // Its own; empty: none.
  std::size_t line = 0;  // From 1.
  std::size_t begin = 0, end = 0;  // Its bytes. A block ends where its last entry does.
  std::vector<YamlEntry> entries;  // Of maps, in their order.
  std::vector<YamlNode> items;     // Of lists.

  const YamlNode* find(std::string_view key) const;  // nullptr if there is none, and in no map.
  bool is_null() const;
};

struct YamlEntry {
  YamlNode key;
  YamlNode value;
};

// Fails with the line where it is not YAML, is not UTF-8, is nested deeper than 100, names a key
// twice, or has several documents.
Result<YamlNode> parse_yaml(std::string_view text);

// What the tree means, without places, styles, comments and names of anchors.
std::string meaning_of(const YamlNode& node);

}  // namespace headroom
