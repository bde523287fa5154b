// SPDX-License-Identifier: Apache-2.0
// The names under which programs take and print the sizes of a job: argparse options, configuration
// keys, fields of a Namespace. Data for job_arguments.h.
#pragma once

#include <span>
#include <string_view>

#include "estimate/job_dimensions.h"

namespace headroom::estimate {

struct ArgumentName {
  std::string_view name;  // In small letters, "_" between its words, no group before it.
  Dimension dimension = Dimension::batch;
  unsigned doubt = 0;  // Reading's.
};

// Every meaning of a name; empty for one that is none. Some names mean no dimension here and are
// known as that ("global_batch_size"), so that nothing inside them is taken for one.
std::span<const ArgumentName> meanings_of(std::string_view name);
bool is_another_size(std::string_view name);

}  // namespace headroom::estimate
