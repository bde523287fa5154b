// SPDX-License-Identifier: Apache-2.0
// A job file: from its text to a checked Job.
#include "base/document.h"
#include "estimate/job.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  const auto document = parse_document(fuzz::to_text(data, size));
  if (!document) return 0;
  const auto job = estimate::parse_job(*document);
  if (!job) {
    fuzz::require(!job.error().message.empty() && !job.error().next.empty());
    return 0;
  }
  fuzz::require(job->model.name || job->model.config || job->model.config_path);
  fuzz::require(job->batch.micro != 0U && job->batch.accumulate != 0U && job->batch.sequence != 0);
  fuzz::require(job->method.rank != 0 && !job->method.targets.empty());
  return 0;
}
