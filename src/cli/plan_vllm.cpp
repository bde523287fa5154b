// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_vllm.h"

#include <utility>

#include "cli/engine_answer.h"
#include "cli/present_gpu.h"
#include "estimate/vllm/vllm_plan.h"

namespace headroom::cli {
namespace {

using estimate::vllm::Card;

// vLLM's share is of the card's whole memory, whatever others hold of it.
Result<Card> find_card(const estimate::Job& job, const std::string& root,
                       std::vector<std::string>& notes, const Context& context) {
  HEADROOM_CHECK(expect_root_is_used(job, root));
  std::optional<estimate::PresentGpu> present;
  if (job.device.gpu == "auto") {
    HEADROOM_TRY(present, find_present_gpu(root, context));
  }
  HEADROOM_TRY(const estimate::Device device, estimate::find_device(job, present));
  Card card;
  if (device.capacity) card.total_bytes = device.capacity->value;
  if (present && !job.device.capacity) {
    card.total_bytes = present->limit.value;
    card.held_bytes = present->held.value;
  }
  card.name = present ? present->name : job.device.gpu.value_or("");
  card.context_bytes = device.context.value;
  card.blas_workspace_bytes = device.blas_workspace.value;
  notes.insert(notes.end(), device.notes.begin(), device.notes.end());
  return card;
}

}  // namespace

int plan_vllm(run::VllmJob job, const std::string& root, bool as_json, const Context& context) {
  std::vector<std::string> notes = std::move(job.notes);
  const std::vector<std::string>& of_model = job.loaded.model.notes;
  notes.insert(notes.end(), of_model.begin(), of_model.end());
  const auto card = find_card(job.loaded.job, root, notes, context);
  if (!card) return print_error(context, card.error(), exit_usage);
  auto plan = estimate::vllm::make_vllm_plan(std::move(job.loaded.model), job.loaded.config,
                                             job.options, *card);
  if (!plan) return print_error(context, plan.error(), exit_usage);
  plan->notes.insert(plan->notes.begin(), notes.begin(), notes.end());
  return print_engine_plan(*plan, as_json, context);
}

}  // namespace headroom::cli
