// SPDX-License-Identifier: Apache-2.0
#include "allocator/c_api/last_error.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace headroom::allocator::c_api {
namespace {

// It has no constructor or destructor, so that it can be used while a thread ends.
struct LastError {
  headroom_result status = HEADROOM_OK;
  std::array<char, 2048> text = {};
};

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): as errno is.
thread_local constinit LastError last;

class Writer {
 public:
  void add(std::string_view text) {
    const std::size_t fits = std::min(text.size(), last.text.size() - 1 - used_);
    std::copy_n(text.data(), fits, last.text.data() + used_);
    used_ += fits;
    last.text.at(used_) = '\0';
  }

 private:
  std::size_t used_ = 0;
};

headroom_result status_of_code(Errc code) {
  switch (code) {
    case Errc::out_of_memory:
      return HEADROOM_OUT_OF_MEMORY;
    case Errc::unsupported:
    case Errc::not_this_system:
      return HEADROOM_UNSUPPORTED;
    case Errc::invalid:
      return HEADROOM_INVALID;
    default:
      return HEADROOM_IO;
  }
}

}  // namespace

headroom_result keep(const Error& error) noexcept {
  last.status = status_of_code(error.code);
  Writer writer;
  writer.add(error.message);
  if (!error.next.empty()) {
    writer.add("\nnext: ");
    writer.add(error.next);
  }
  return last.status;
}

headroom_result keep_exception() noexcept {
  last.status = HEADROOM_OUT_OF_MEMORY;
  Writer().add("the host's own memory does not suffice for the allocator's tables\nnext: free -h");
  return last.status;
}

const char* last_error() noexcept {
  return last.text.data();
}

headroom_result last_result() noexcept {
  return last.status;
}

}  // namespace headroom::allocator::c_api

std::uint32_t headroom_allocator_abi(void) {
  return HEADROOM_ALLOCATOR_ABI;
}

const char* headroom_last_error(void) {
  return headroom::allocator::c_api::last_error();
}

headroom_result headroom_last_result(void) {
  return headroom::allocator::c_api::last_result();
}
