// SPDX-License-Identifier: Apache-2.0
// Finding what must not be told in running text, by its shape. Each function hands every find to
// `replace` and puts what that returns in its place. Linear in the text; no regular expressions.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace headroom::redact {

using Replace = std::function<std::string(const std::string&)>;

// A word where it stands alone: neither letter, digit nor underscore beside it.
std::string replace_word(std::string_view text, std::string_view word, const Replace& replace);

// 8-4-4-4-12 hexadecimal digits.
std::string replace_uuids(std::string_view text, const Replace& replace);

// Four decimal bytes; two and more groups of hexadecimal digits with a "::" or eight without; six
// pairs of hexadecimal digits with colons. Not a PCI address.
std::string replace_addresses(std::string_view text, const Replace& replace);

// The name of a home folder: what follows "/home/".
std::string replace_home_names(std::string_view text, const Replace& replace);

// Words between blanks outside of quotation marks, each with its quotation marks; what is between
// the words stays.
std::string replace_quoted_words(std::string_view text, const Replace& replace);

// NAME=VALUE, NAME: VALUE and "NAME": "VALUE" where the name looks like a secret's (settings.h):
// the value.
std::string replace_secrets(std::string_view text, const Replace& replace);

}  // namespace headroom::redact
