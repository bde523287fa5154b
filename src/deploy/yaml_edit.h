// SPDX-License-Identifier: Apache-2.0
// Insertions into YAML text, in the style of what is there: block or flow, its indentation, its
// line ends. Each returns the new text; nodes of the old one no longer fit it.
#pragma once

#include <string>
#include <string_view>

#include "yaml/tree.h"

namespace headroom::deploy {

// A text as a scalar: plain where no reader could take it for anything else, else in double quotes.
std::string yaml_scalar(std::string_view text);
// The same, in double quotes always: a value of the environment that looks like a number is a text.
std::string yaml_quoted(std::string_view text);

// `value` in the place of `node`, a value of `key`; what is written must be in flow style.
std::string replace_node(std::string_view text, const YamlNode& key, const YamlNode& node,
                         const std::string& value);
// `key: value` behind the last entry of a map that is not empty, or is in flow style.
std::string add_entry(std::string_view text, const YamlNode& map, const std::string& key,
                      const std::string& value);
// An item behind the last one of a list that is not empty, or is in flow style.
std::string add_item(std::string_view text, const YamlNode& list, const std::string& item);

}  // namespace headroom::deploy
