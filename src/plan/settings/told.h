// SPDX-License-Identifier: Apache-2.0
// Settings that stand where no edit is safe, in a program's arguments or an image's recipe, and
// what to tell a person of them.
#pragma once

#include <string>
#include <vector>

#include "facts/boot_setup.h"
#include "plan/settings/setting_lines.h"

namespace headroom::plan {

// What the readers of check find in the file, wherever it stands.
std::vector<facts::Setting> settings_told(const facts::ConfigFile& file, SettingSyntax syntax);

std::string told_of(const facts::Setting& setting, SettingSyntax syntax);
// Of a file that belongs to the distribution's image or package.
std::string told_of_vendor(const std::string& path, const std::string& name);

}  // namespace headroom::plan
