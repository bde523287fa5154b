// SPDX-License-Identifier: Apache-2.0
// The keys of a job with [engine] kind = "diffusers", which are the names of diffusers' own calls
// and arguments.
#pragma once

#include "base/document_fwd.h"
#include "base/result.h"
#include "estimate/diffusion/settings.h"

namespace headroom::estimate::diffusion {

// Fails on an unknown key (naming the nearest) and a wrong value, with the key's path.
Result<Settings> read_settings(const Json& engine);

}  // namespace headroom::estimate::diffusion
