// SPDX-License-Identifier: Apache-2.0
#include "estimate/pipeline.h"

#include <algorithm>

namespace headroom::estimate {

std::vector<StageAction> one_forward_one_backward(std::uint32_t stage, std::uint32_t stages,
                                                  std::uint64_t micro_batches) {
  const std::uint64_t ahead = std::min<std::uint64_t>(stages - 1 - stage, micro_batches);
  std::vector<StageAction> actions;
  actions.reserve(2 * micro_batches);
  for (std::uint64_t i = 0; i < ahead; ++i) actions.push_back({StagePass::forward, i});
  for (std::uint64_t i = 0; i < micro_batches; ++i) {
    if (ahead + i < micro_batches) actions.push_back({StagePass::forward, ahead + i});
    actions.push_back({StagePass::backward, i});
  }
  return actions;
}

std::uint64_t most_in_flight(std::uint32_t stage, std::uint32_t stages,
                             std::uint64_t micro_batches) {
  return std::min<std::uint64_t>(stages - stage, micro_batches);
}

std::uint64_t telling_micro_batches(std::uint32_t stage, std::uint32_t stages,
                                    std::uint64_t micro_batches) {
  // All that are in flight, with gradients there already, and one more that begins as they go.
  return std::min<std::uint64_t>(micro_batches, std::uint64_t{stages} - stage + 2);
}

}  // namespace headroom::estimate
