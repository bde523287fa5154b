// SPDX-License-Identifier: Apache-2.0
// Any bytes as something that a POSIX shell can feed to a command.
#pragma once

#include <string>
#include <string_view>

namespace headroom::report {

// A quoted here-document where the bytes are whole lines of text, else octal escapes. Lines of a
// script that run `command` with `bytes` as its standard input.
std::string feed(std::string_view command, std::string_view bytes);

}  // namespace headroom::report
