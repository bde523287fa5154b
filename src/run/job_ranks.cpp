// SPDX-License-Identifier: Apache-2.0
#include "run/job_ranks.h"

#include <fmt/format.h>

namespace headroom::run {

Result<estimate::Plan> plan_rank(const estimate::Plan& whole, const LoadedJob& loaded,
                                 std::uint32_t ranks) {
  estimate::Job job = whole.job;
  const std::uint64_t steps = job.batch.accumulate.value_or(1), micro = job.batch.micro.value_or(1);
  if (steps < ranks) {
    const std::uint64_t smaller = micro * steps / ranks;
    return Error{Errc::invalid,
                 fmt::format("batch.accumulate: expected at least {}, because the ranks share the "
                             "micro-batches of a step; found {}",
                             ranks, steps),
                 smaller == 0 ? fmt::format("write [batch] accumulate = {}, or use --ranks {}",
                                            ranks, micro * steps)
                              : fmt::format("write [batch] micro = {}, accumulate = {}", smaller,
                                            (micro * steps + smaller - 1) / smaller)};
  }
  job.batch.accumulate = (steps + ranks - 1) / ranks;
  HEADROOM_TRY(const estimate::Device device, estimate::find_device(job));
  return estimate::make_plan(job, loaded.model, device);
}

}  // namespace headroom::run
