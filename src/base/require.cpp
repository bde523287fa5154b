// SPDX-License-Identifier: Apache-2.0
#include "base/require.h"

#include <stdexcept>
#include <string>

namespace headroom {
namespace {

[[noreturn]] void throw_broken(const char* what, const std::source_location& where) {
  throw std::logic_error(std::string(where.file_name()) + ":" + std::to_string(where.line()) +
                         ": required: " + what);
}

}  // namespace

// A library neither prints nor writes to a descriptor, but the language's own runtime says what an
// exception was that nobody can catch: this one cannot leave here, so the stack is still whole when
// the program ends.
void end_for_broken_requirement(const char* what, const std::source_location& where) noexcept {
  throw_broken(what, where);
}

}  // namespace headroom
