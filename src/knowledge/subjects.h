// SPDX-License-Identifier: Apache-2.0
// What people speak of when they report trouble: data/subjects.toml, rows as signatures have. Their
// wording is common, so they are not looked for where logs are read but only in the sentences of a
// report.
#pragma once

#include "base/result.h"
#include "knowledge/signatures.h"

namespace headroom::knowledge {

// The embedded table. Fails only if data/subjects.toml is wrong, which a test excludes.
Result<SignatureTable> load_subjects();

}  // namespace headroom::knowledge
