// SPDX-License-Identifier: Apache-2.0
#include "averager/c_api/last_error.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace headroom::averager::c_api {
namespace {

// It has no constructor or destructor, so that it can be used while a thread ends.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): as errno is.
thread_local constinit std::array<char, 2048> last = {};

std::size_t append(std::size_t used, std::string_view text) {
  const std::size_t fits = std::min(text.size(), last.size() - 1 - used);
  std::copy_n(text.data(), fits, last.data() + used);
  last.at(used + fits) = '\0';
  return used + fits;
}

}  // namespace

headroom_averager_status keep(const Error& error) noexcept {
  const std::size_t used = append(0, error.message);
  if (!error.next.empty()) append(append(used, "\nnext: "), error.next);
  switch (error.code) {
    case Errc::invalid:
      return HEADROOM_AVERAGER_INVALID;
    case Errc::no_space:
    case Errc::out_of_memory:
      return HEADROOM_AVERAGER_NO_ROOM;
    case Errc::busy:
      return HEADROOM_AVERAGER_BUSY;
    case Errc::no_permission:
      return HEADROOM_AVERAGER_NO_PERMISSION;
    case Errc::io:
      return HEADROOM_AVERAGER_LOST;
    default:
      return HEADROOM_AVERAGER_UNSUPPORTED;
  }
}

headroom_averager_status keep_exception() noexcept {
  append(0, "memory or threads do not suffice for the averager's own tables\nnext: free -h");
  return HEADROOM_AVERAGER_NO_ROOM;
}

}  // namespace headroom::averager::c_api

const char* headroom_averager_last_error(void) {
  return headroom::averager::c_api::last.data();
}
