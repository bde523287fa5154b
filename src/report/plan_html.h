// SPDX-License-Identifier: Apache-2.0
// A plan as a page for a browser, in one file that needs no other and no network: the step as a
// picture, the same numbers as tables, and a small picture of each setting that would fit.
#pragma once

#include <string>
#include <vector>

#include "estimate/models/architecture.h"
#include "estimate/plan.h"
#include "estimate/timeline.h"

namespace headroom::report {

struct PlanPicture {
  const estimate::Plan& plan;
  const estimate::Architecture& model;
  estimate::Timeline timeline;                 // Of plan.job.
  std::vector<estimate::Timeline> candidates;  // Of plan.advice, one each, in its order.
};

std::string to_html(const PlanPicture& picture);

}  // namespace headroom::report
