// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <utility>

#include "faces/c10/c10.h"

namespace {
std::atomic<int> alive = 0;
}

namespace c10 {

Error::Error(SourceLocation where, std::string text) : text_(std::move(text)) {
  context_.emplace_back(where.function);
  ++alive;
}
Error::~Error() {
  --alive;
}
const char* Error::what() const noexcept {
  return text_.c_str();
}

}  // namespace c10

int fake_c10_alive() {
  return alive;
}
