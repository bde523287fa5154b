// SPDX-License-Identifier: Apache-2.0
// What of a job shapes its memory, as the JSON that parse_job() reads: for the record of past runs.
// Paths, data and output are left out; so is the model, which a record names in its own words.
#pragma once

#include "base/document_fwd.h"
#include "estimate/job.h"

namespace headroom::estimate {

// {"method": {…}, "compute": {…}, "optimizer": {…}, "batch": {…}, "engine": {…}, "device": {…}}
Json to_json(const Job& job);

}  // namespace headroom::estimate
