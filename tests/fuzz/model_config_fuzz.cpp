// SPDX-License-Identifier: Apache-2.0
// A model's config.json.
#include "base/document.h"
#include "estimate/model_config.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  const auto json = parse_json(fuzz::to_text(data, size));
  if (!json) return 0;
  const auto model = estimate::parse_architecture(*json);
  if (!model) {
    fuzz::require(!model.error().message.empty() && !model.error().next.empty());
    return 0;
  }
  for (const auto& stack : model->stacks) {
    const auto& attention = stack.attention;
    fuzz::require(attention.head_dim != 0 && attention.heads % attention.kv_heads == 0);
  }
  return 0;
}
