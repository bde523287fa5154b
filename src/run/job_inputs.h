// SPDX-License-Identifier: Apache-2.0
// The files that a job is made of: what no output of a command may take the place of.
#pragma once

#include <string>

#include "machine/output_files.h"
#include "run/job_file.h"

namespace headroom::run {

// The job's file, its model's config and weights, and its training data; `path` as given to
// load_job, `flags` as well. Of a job from standard input what that is.
machine::InputFiles inputs_of(const std::string& path, const JobFlags& flags,
                              const LoadedJob& loaded);

}  // namespace headroom::run
