// SPDX-License-Identifier: Apache-2.0
// edit_text() and read_settings() of compose files (the Compose Specification).
#pragma once

#include <string>
#include <string_view>

#include "deploy/edit.h"

namespace headroom::deploy {

Result<std::string> edit_compose(const EditTarget& target, std::string text, const TypedSet& set);
Result<Settings> read_compose(const EditTarget& target, std::string_view text);

// What the file means besides the settings of this one service that TypedSet can name.
Result<std::string> rest_of_compose(const EditTarget& target, std::string_view text);

}  // namespace headroom::deploy
