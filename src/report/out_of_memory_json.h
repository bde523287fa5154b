// SPDX-License-Identifier: Apache-2.0
// An out of memory as JSON: one of `oom_events` in report.json (docs/schema/train.schema.json).
#pragma once

#include <string>

#include "allocator/forensics/out_of_memory.h"
#include "base/document_fwd.h"

namespace headroom::report {

// Sizes in bytes; `heap`, `outside` and `batch` are null where the report lacks them.
Json to_json(const allocator::OutOfMemory& problem);

// Adds to `missing` why parts are null, by JSON pointer; `at` is the pointer of the problem itself.
void add_missing(const allocator::OutOfMemory& problem, const std::string& at, Json& missing);

}  // namespace headroom::report
