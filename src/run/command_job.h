// SPDX-License-Identifier: Apache-2.0
// A job whose engine is a command of the user's own: the command, what of its batch the job says,
// and the same job as a training library would run it, for the planner.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "run/job_file.h"

namespace headroom::run {

struct CommandJob {
  std::vector<std::string> command;  // With its placeholders.
  // As the job says; nothing where it does not. Whoever fills in a placeholder that is left open
  // takes the job's default, 1.
  std::optional<std::uint64_t> micro, accumulate;
  bool micro_is_automatic = false;  // batch.micro = "auto"
  // As engine "transformers" has it; nothing where the job names no model.
  std::optional<LoadedJob> as_planned;
  std::optional<std::string> output_folder;  // As written.
};

// Nothing for a job of another engine, and for what is no file ("-"). Fails with what is wrong in
// the job.
Result<std::optional<CommandJob>> load_command_job(const std::string& path);

}  // namespace headroom::run
