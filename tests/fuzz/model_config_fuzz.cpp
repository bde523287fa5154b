// SPDX-License-Identifier: Apache-2.0
// A model's config.json: whatever stands there, what is read fits together and can be counted.
#include "base/document.h"
#include "estimate/models/architecture.h"
#include "estimate/models/parameters.h"
#include "fuzz.h"

namespace {

using namespace headroom;

void check_stack(const estimate::Stack& stack) {
  const estimate::AttentionShape& attention = stack.attention;
  fuzz::require(stack.hidden != 0 && stack.layers != 0 && attention.head_dim != 0);
  fuzz::require(attention.kv_heads != 0 && attention.heads % attention.kv_heads == 0);
  fuzz::require(stack.windows.empty() || stack.windows.size() == stack.layers);
  fuzz::require(attention.rotary_part >= 0 && attention.rotary_part <= 1);
  if (!stack.experts) return;
  const estimate::Experts& experts = *stack.experts;
  fuzz::require(experts.per_token >= 1 && experts.per_token <= experts.count);
  fuzz::require(experts.layers.empty() || experts.layers.size() == stack.layers);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto json = parse_json(fuzz::to_text(data, size));
  if (!json) return 0;
  const auto model = estimate::parse_architecture(*json);
  if (!model) {
    fuzz::require(!model.error().message.empty() && !model.error().next.empty());
    fuzz::require(model.error().message.size() < 1500);
    return 0;
  }
  fuzz::require(!model->stacks.empty());
  for (const estimate::Stack& stack : model->stacks) check_stack(stack);
  const std::uint64_t parameters = estimate::parameter_count(*model);
  fuzz::require(parameters > 0 && parameters <= std::uint64_t{1} << 50U);
  fuzz::require(estimate::matrix_elements_per_token(*model) <= 2 * parameters);
  return 0;
}
