// SPDX-License-Identifier: Apache-2.0
// The border from C++ to C: an Error becomes a status and this thread's last error, and no
// exception gets out.
#pragma once

#include <headroom/allocator.h>

#include <utility>

#include "base/error.h"
#include "base/result.h"

namespace headroom::allocator::c_api {

// Keeps the error for headroom_last_error(). Cuts a text that is too long.
headroom_result keep(const Error& error) noexcept;

const char* last_error() noexcept;
headroom_result last_result() noexcept;

// Keeps an error for an exception, which can only mean that the host ran out of memory.
headroom_result keep_exception() noexcept;

// Calls `work`, which returns a Result, and returns its value, or `failed` if it fails.
template <class T, class Work>
T value_of(T failed, Work&& work) noexcept {
  try {
    auto result = std::forward<Work>(work)();
    if (result) return *std::move(result);
    static_cast<void>(keep(result.error()));
  } catch (...) {
    static_cast<void>(keep_exception());
  }
  return failed;
}

template <class Work>
headroom_result status_of(Work&& work) noexcept {
  try {
    const Status status = std::forward<Work>(work)();
    return status ? HEADROOM_OK : keep(status.error());
  } catch (...) {
    return keep_exception();
  }
}

}  // namespace headroom::allocator::c_api
