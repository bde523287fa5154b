// SPDX-License-Identifier: Apache-2.0
// edit_text() and read_settings() of compose files (the Compose Specification).
#pragma once

#include <string>
#include <string_view>

#include "deploy/edit.h"
#include "yaml/tree.h"

namespace headroom::deploy {

Result<std::string> edit_compose(const EditTarget& target, std::string text, const TypedSet& set);
Result<Settings> read_compose(const EditTarget& target, std::string_view text);
// Of one service of a file that has been read: the map below its name.
Settings read_compose_service(const YamlNode& service);

// What the file means besides the settings of this one service that TypedSet can name.
Result<std::string> rest_of_compose(const EditTarget& target, std::string_view text);

}  // namespace headroom::deploy
