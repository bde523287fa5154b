// SPDX-License-Identifier: Apache-2.0
// How scripts that root may run find their way below a root that others write to as well. A shell
// cannot hold folders open, so it goes only through those that root alone can write to: what it
// looked at then stays what it is. The files of these names beside this one, which say what each
// needs, compiled in by cmake/Embed.cmake.
#pragma once

#include <string_view>

namespace headroom {

extern const std::string_view shell_careful_sh;
extern const std::string_view shell_follow_sh;

}  // namespace headroom
