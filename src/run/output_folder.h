// SPDX-License-Identifier: Apache-2.0
// Where a run writes.
#pragma once

#include <string>

#include "run/job_file.h"

namespace headroom::run {

// The folder given on the command line, else the job's, which is relative to the job's file. Empty
// where neither names one.
std::string output_folder(const LoadedJob& loaded, const std::string& given);

}  // namespace headroom::run
