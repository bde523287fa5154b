// SPDX-License-Identifier: Apache-2.0
// The GPU runtime that this process has loaded. PyTorch's builds for HIP and for CUDA have the same
// names for most things, and differ in what they are linked to.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace headroom::faces {

// HEADROOM_BACKEND_HIP or HEADROOM_BACKEND_CUDA. Fails if neither runtime is loaded.
Result<std::uint32_t> find_loaded_backend();

// "0000:03:00.0", by which all processes mean the same card, whichever of them it can see. Fails if
// the runtime does not say.
Result<std::string> find_pci_address(std::uint32_t backend, int device);

// A function of the HIP runtime that is loaded; null if there is none.
void* find_in_hip(const char* function);

// The address of a function in the first of these libraries that is loaded and has it; else null.
void* find_loaded(const char* const* libraries, std::size_t count, const char* function);

}  // namespace headroom::faces
