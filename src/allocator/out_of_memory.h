// SPDX-License-Identifier: Apache-2.0
// Why a request could not be met: a value for programs, and its text for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "allocator/policy.h"
#include "base/error.h"

namespace headroom::allocator {

struct OutOfMemory {
  Request request;
  std::uint64_t capacity_bytes = 0;
  Usage usage;
  std::uint64_t free_bytes = 0;          // Inside mapped pages.
  std::uint64_t largest_free_bytes = 0;  // The largest block among them that the stream may use.
  std::uint64_t waiting_bytes = 0;       // Of free_bytes: may still be in use by another stream.
  std::uint64_t spare_bytes = 0;         // Whole pages that can be mapped anywhere.
  std::uint64_t fits_bytes = 0;          // A request of this size would have been met.
  std::optional<Error> device;           // What the device said, where it refused.
};

// "asked for 3.99 GiB (logits) …": what was asked, what is live by component, what is free and why
// it does not help, and what to do next. Several lines, the last one without an end.
std::string to_text(const OutOfMemory& problem);

// The same as an Error: the first sentence as the message, the last as `next`.
Error to_error(const OutOfMemory& problem);

}  // namespace headroom::allocator
