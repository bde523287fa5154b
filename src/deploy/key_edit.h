// SPDX-License-Identifier: Apache-2.0
// Single values put into a plain configuration file of "name = value" lines, which a service reads
// by itself. What else stands in the file keeps its bytes. A file in which it is not plain where a
// value belongs is not edited.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace headroom::deploy {

// What each name is set to, without the quotes around it. Of names that stand there more than once,
// the last.
std::map<std::string, std::string> read_keys(std::string_view text);

// `file` is what messages call the text. A name that is not there is added at the end. Fails with
// unsupported where a name stands there more than once, or is to be added to a file with sections.
Result<std::string> edit_keys(const std::string& file, std::string text,
                              const std::map<std::string, std::string>& keys);

}  // namespace headroom::deploy
