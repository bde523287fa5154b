// SPDX-License-Identifier: Apache-2.0
// Expands the compact description of a machine (tests/machines/*.toml) to a folder that looks like
// its /sys, /proc, /etc and /dev, for every command with --root. The description holds facts; the
// layout of the files is written here, once, as the kernel writes it. Keys:
// tests/machines/README.md.
#pragma once

#include <string>

#include "base/document_fwd.h"
#include "base/result.h"

namespace headroom::testing {

// Writes into `folder`, which must exist and be empty. Fails with the place of the first key that
// is missing or unknown.
Status expand_machine(const Document& description, const std::string& folder);

}  // namespace headroom::testing
