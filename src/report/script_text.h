// SPDX-License-Identifier: Apache-2.0
// What a script of a change is made of: the shell functions that every one begins with, and any
// bytes as something that a POSIX shell can feed to a command.
#pragma once

#include <string>
#include <string_view>

namespace headroom::report {

// run, save, put, expect_same, expect_text, …; POSIX sh, with `root` before every path and copies
// in `backups`.
std::string_view script_functions();

// A quoted here-document where the bytes are whole lines of text, else octal escapes. Lines of a
// script that run `command` with `bytes` as its standard input.
std::string feed(std::string_view command, std::string_view bytes);

}  // namespace headroom::report
