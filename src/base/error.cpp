// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <utility>

namespace headroom {

std::string_view to_string(Errc code) {
  switch (code) {
    case Errc::not_found:
      return "not found";
    case Errc::no_permission:
      return "no permission";
    case Errc::invalid:
      return "invalid";
    case Errc::unsupported:
      return "unsupported";
    case Errc::out_of_memory:
      return "out of memory";
    case Errc::no_space:
      return "no space left";
    case Errc::io:
      return "input/output";
    case Errc::busy:
      return "busy";
    case Errc::not_this_system:
      return "not this system";
  }
  return "unknown";
}

Error Error::in(std::string_view doing) && {
  message = std::string(doing) + ": " + message;
  key.clear();
  return std::move(*this);
}

Error Error::at(std::string_view key_in_question) && {
  message = std::string(key_in_question) + ": " + message;
  key = key_in_question;
  return std::move(*this);
}

}  // namespace headroom
