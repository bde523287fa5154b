// SPDX-License-Identifier: Apache-2.0
// The files that set module parameters when a module is loaded (modprobe.d(5)): which of them
// count, and one file's text edited word by word. Comments, continued lines and every other word
// stay byte for byte.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "findings/advice.h"
#include "plan/boot/boot_steps.h"

namespace headroom::plan {

using findings::own_options_path;

// In the order in which they are read: by name; of two with one name that in /etc counts, then
// /run, /usr/local/lib, /usr/lib, /lib.
std::vector<const facts::ConfigFile*> modprobe_files(const facts::BootSetup& boot);

// Whether "options MODULE KEY=…" stands in the text.
bool sets_parameter(std::string_view text, const ParameterChange& parameter);
// The last value that the files set, as written; empty where none does.
std::string value_in_files(const facts::BootSetup& boot, const ParameterChange& parameter);

// The last word that sets the parameter gets the value, earlier ones go; without a value all go. A
// line that is left without any word goes as well. Requires a text that sets it.
std::string edit_parameter(std::string_view text, const ParameterChange& change);
// A line "options MODULE KEY=VALUE …" more.
std::string append_options(std::string_view text, const std::vector<ParameterChange>& changes);

}  // namespace headroom::plan
