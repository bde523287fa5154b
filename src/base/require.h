// SPDX-License-Identifier: Apache-2.0
// What a function requires of its caller, checked in every build. Only for mistakes of this
// program: what comes from outside it is answered by an Error. Functions that run for every block
// of an allocator say what they require in a comment alone.
#pragma once

#include <source_location>

namespace headroom {

// Ends the program by std::terminate(), which prints `what` and the place that it was asked at.
[[noreturn]] void end_for_broken_requirement(const char* what,
                                             const std::source_location& where) noexcept;

// `what` is a sentence about how things must be: "the plan has a slot for each block".
constexpr void require(bool holds, const char* what,
                       const std::source_location& where = std::source_location::current()) {
  if (!holds) [[unlikely]]
    end_for_broken_requirement(what, where);
}

}  // namespace headroom
