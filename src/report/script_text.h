// SPDX-License-Identifier: Apache-2.0
// What a script of a change is made of: the shell functions that every one begins with, and any
// bytes as something that a POSIX shell can feed to a command.
#pragma once

#include <string>
#include <string_view>

namespace headroom::report {

// run, save, put, expect_same, expect_text, …; POSIX sh, with `root` before every path, copies in
// `backups`, and in `safe_way` the command for what root refuses here: paths through folders that
// others can write to. expect_safe looks at paths before anything is done, keep_copies ends that.
std::string script_functions();

// A quoted here-document where the bytes are whole lines of text, else octal escapes. Lines of a
// script that run `command` with `bytes` as its standard input.
std::string feed(std::string_view command, std::string_view bytes);

}  // namespace headroom::report
