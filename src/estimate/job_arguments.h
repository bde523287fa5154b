// SPDX-License-Identifier: Apache-2.0
// The sizes of a job out of what is at hand of it: a command line, a configuration that a log
// prints, or a whole log. Options ("--batch_size 64", "--batch-size=64"), assignments in every
// manner ("model.n_embd=768", "hidden_size: 2048", "\"n_head\": 16", "Namespace(batch_size=64, …)",
// "micro_batch_size .......... 4", "n_ctx = 8192", "Batch size = 8") under the names of
// argument_names.h.
#pragma once

#include <string_view>

#include "estimate/job_dimensions.h"

namespace headroom::estimate {

// Never fails: what is no number in the right place is passed over. Each value says where it stands
// ("--batch_size", "hidden_size in line 12"). Takes time in proportion to the text.
JobDimensions dimensions_in(std::string_view text);

}  // namespace headroom::estimate
