// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value or an Error. Every function that can fail and is used across a folder border
// returns one; no exception crosses such a border. Ignoring a Result is a compile error.
#pragma once

#include <utility>

#include <tl/expected.hpp>

#include "base/error.h"

namespace headroom {

template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
  // NOLINTNEXTLINE(google-explicit-constructor): `return Error{…};` is the point.
  Result(Error error) : tl::expected<T, Error>(tl::unexpect, std::move(error)) {}
};

// The result of something that only succeeds or fails: `return Done{};`
struct Done {};
using Status = Result<Done>;

}  // namespace headroom

#define HEADROOM_CONCAT_TOKENS(a, b) a##b
#define HEADROOM_CONCAT(a, b) HEADROOM_CONCAT_TOKENS(a, b)

// HEADROOM_TRY(const auto text, files.read(path)); declares `text`, or returns the error from this
// function.
#define HEADROOM_TRY(declaration, expression)                     \
  auto HEADROOM_CONCAT(result_, __LINE__) = (expression);         \
  if (!HEADROOM_CONCAT(result_, __LINE__))                        \
    return std::move(HEADROOM_CONCAT(result_, __LINE__)).error(); \
  declaration = *std::move(HEADROOM_CONCAT(result_, __LINE__))

// HEADROOM_CHECK(write(...)); returns the error from this function if there is one.
#define HEADROOM_CHECK(expression)                             \
  do {                                                         \
    if (auto headroom_status = (expression); !headroom_status) \
      return std::move(headroom_status).error();               \
  } while (false)
