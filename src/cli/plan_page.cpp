// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_page.h"

#include <utility>

#include "estimate/timeline.h"
#include "machine/output_files.h"
#include "report/plan_html.h"

namespace headroom::cli {
namespace {

// About a piece of the step for every two pixels of a picture.
constexpr std::size_t buckets = 440;
constexpr std::size_t small_buckets = 200;

}  // namespace

Status write_plan_page(const std::string& path, const estimate::Plan& plan,
                       const run::LoadedJob& loaded, const estimate::Device& device) {
  report::PlanPicture picture{plan, loaded.model, {}, {}};
  HEADROOM_TRY(picture.timeline, estimate::find_timeline(plan.job, loaded.model, device, buckets));
  for (const estimate::Advice& advice : plan.advice) {
    HEADROOM_TRY(auto timeline,
                 estimate::find_timeline(advice.job, loaded.model, device, small_buckets));
    picture.candidates.push_back(std::move(timeline));
  }
  return machine::write_output({"--html", path}, to_html(picture));
}

}  // namespace headroom::cli
