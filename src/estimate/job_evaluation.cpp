// SPDX-License-Identifier: Apache-2.0
#include "estimate/job_evaluation.h"

#include <fmt/format.h>

#include "base/document.h"

namespace headroom::estimate {
namespace {

constexpr Range intervals = {1, std::uint64_t{1} << 40U};

void read_interval(TableReader& table, Job::Data& data) {
  const Json* given = table.find("evaluate_every");
  if (given == nullptr) return;
  if (*given != "epoch") table.read("evaluate_every", data.evaluate_every, intervals);
  if (data.evaluation_share || !data.evaluation_paths.empty()) return;
  table.fail("evaluate_every", Errc::invalid, "expected data to evaluate on, found none",
             "write evaluation = 0.1 under [data], a part of the samples, or the path of a file");
}

}  // namespace

void read_evaluation(TableReader& table, Job::Data& data) {
  const Json* given = table.find("evaluation");
  if (given != nullptr && given->is_number()) {
    const double share = given->get<double>();
    if (share > 0 && share < 1) {
      data.evaluation_share = share;
    } else {
      table.fail("evaluation", Errc::invalid,
                 fmt::format("expected a part of the samples between 0 and 1, or the path of a "
                             "file, found {}",
                             given->dump()),
                 "write evaluation = 0.1");
    }
  } else {
    table.read("evaluation", data.evaluation_paths);
  }
  read_interval(table, data);
}

}  // namespace headroom::estimate
