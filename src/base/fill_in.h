// SPDX-License-Identifier: Apache-2.0
// Fills in the blanks of a text that stands in a file of its own. Such a file stays what it is
// written in (shell, say) and can be checked as that: its blanks are words inside of comments and
// quotes, and lines that show by example what will stand there.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace headroom {

using Blanks = std::map<std::string, std::string, std::less<>>;  // By name.

// Wherever `text` has "@name@" stands what `blanks` has for the name. A line that ends in
// "# @name@" is an example: the whole line is replaced, and so are those after it that end in the
// same words, all by one filling, which is whole lines or nothing. What a filling says is not
// looked through again, and a name that `blanks` does not have stays as it is.
std::string fill_in(std::string_view text, const Blanks& blanks);

}  // namespace headroom
