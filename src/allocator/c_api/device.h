// SPDX-License-Identifier: Apache-2.0
// Opens the memory that a C caller's options ask for.
#pragma once

#include <headroom/allocator.h>

#include <memory>
#include <string>

#include "allocator/backend.h"
#include "allocator/backends/system_guard.h"
#include "base/result.h"

namespace headroom::allocator::c_api {

struct OpenDevice {
  std::unique_ptr<Backend> backend;
  std::string name;            // "host", "gfx1100 by HIP".
  std::string virtual_memory;  // Whether it is used and why, as half a sentence.
  std::string pci = {};        // Empty where it is no GPU, or the driver does not say.
  CountMemory count = {};      // Asks the driver; it lives as long as the backend. Empty: no GPU.
};

// Requires: check_options() passed.
Result<OpenDevice> open_device(const headroom_allocator_options& options);

}  // namespace headroom::allocator::c_api
