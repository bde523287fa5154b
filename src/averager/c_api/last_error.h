// SPDX-License-Identifier: Apache-2.0
// The border from C++ to C: an Error becomes a status and this thread's last error, and no
// exception gets out.
#pragma once

#include <headroom/averager.h>

#include <utility>

#include "base/error.h"
#include "base/result.h"

namespace headroom::averager::c_api {

// Keeps the error for headroom_averager_last_error(). Cuts a text that is too long.
headroom_averager_status keep(const Error& error) noexcept;
// Keeps an error for an exception, which can only mean that memory or threads ran out.
headroom_averager_status keep_exception() noexcept;

// Calls `work`, which returns a Status, and makes a status of C of it.
template <class Work>
headroom_averager_status status_of(Work&& work) noexcept {
  try {
    const Status status = std::forward<Work>(work)();
    return status ? HEADROOM_AVERAGER_OK : keep(status.error());
  } catch (...) {
    return keep_exception();
  }
}

}  // namespace headroom::averager::c_api
