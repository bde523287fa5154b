// SPDX-License-Identifier: Apache-2.0
// Everything behind `headroom plan`: a job, a line "---" and a config.json. Whatever passes the
// parsers can be planned, in bounded time, and the plan's sums are right.
#include "base/document.h"
#include "estimate/plan.h"
#include "fuzz.h"

namespace headroom::fuzz {
namespace {

constexpr std::uint64_t layers_max = 4;  // Layers are alike; more cost time and show nothing.

// Our own allocator makes every page, which takes a sanitizer seconds where there are millions.
bool makes_many_pages(const estimate::Job& job, const estimate::Architecture& model) {
  const std::uint64_t tokens = job.batch.micro.value_or(256) * job.batch.sequence;
  return job.device.allocator == "headroom" &&
         (tokens > 1U << 12U || model.vocabulary * model.main().hidden > 1U << 26U);
}

void check_plan(const estimate::Plan& plan) {
  std::uint64_t sum = 0;
  for (const auto component : allocator::all_components) sum += plan.components[component];
  require(sum == plan.allocated_bytes);
  require(plan.allocated_bytes <= plan.reserved_bytes && plan.reserved_bytes <= plan.device_bytes);
  if (plan.fits == true) require(plan.device_bytes <= *plan.capacity_bytes);
  if (plan.fits == false) require(plan.first_failure.has_value());
}

void plan_one(std::string_view job_text, std::string_view config_text) {
  const auto document = parse_document(job_text);
  const auto config = parse_json(config_text);
  if (!document || !config) return;
  const auto job = estimate::parse_job(*document);
  const auto model = estimate::parse_architecture(*config);
  if (!job || !model || model->main().layers > layers_max || makes_many_pages(*job, *model)) return;
  const auto device = estimate::find_device(*job);
  if (!device) return;
  const auto plan = estimate::make_plan(*job, *model, *device);
  if (!plan) {
    require(!plan.error().message.empty() && !plan.error().next.empty());
    return;
  }
  check_plan(*plan);
}

}  // namespace
}  // namespace headroom::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = headroom::fuzz::to_text(data, size);
  const std::size_t divider = text.find("\n---\n");
  if (divider == std::string_view::npos) return 0;
  headroom::fuzz::plan_one(text.substr(0, divider), text.substr(divider + 5));
  return 0;
}
