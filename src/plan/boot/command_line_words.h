// SPDX-License-Identifier: Apache-2.0
// The text of a kernel command line, edited by the kernel's own rules (lib/cmdline.c next_arg(),
// kernel/params.c parameq()): blanks separate words, double quotes keep blanks inside one, "-" and
// "_" are the same in a name, and what follows a word "--" is for init. Whatever is not named in
// the edit stays byte for byte.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/boot/boot_steps.h"

namespace headroom::plan {

struct WordSpan {
  std::size_t begin = 0;
  std::size_t end = 0;  // One past its last byte.
};
// The words that are the kernel's: those before "--".
std::vector<WordSpan> find_words(std::string_view text);

// What stands before "=", "-" written as "_", an opening quote left out: the name that the kernel
// compares. "ttm.pages-limit=5" → "ttm.pages_limit".
std::string argument_name(std::string_view word);
// Every word of that name, as it stands in the text.
std::vector<std::string> find_arguments(std::string_view text, std::string_view name);

// A word to set takes the place of the first of that name, or comes after the last word; others of
// its name go, as do those to drop, each with the blanks before it.
std::string edit_words(std::string_view text, const ArgumentChange& change);
// Only takes away.
std::string drop_words(std::string_view text, const std::vector<std::string>& names);

// Fails with invalid on a word that would be more than one (blanks outside of quotes), that has no
// name, or that has bytes other than printable ASCII.
Status check_words(const ArgumentChange& change);

// "set ttm.pages_limit=31457280, drop amdgpu.gttsize".
std::string describe(const ArgumentChange& change);

}  // namespace headroom::plan
