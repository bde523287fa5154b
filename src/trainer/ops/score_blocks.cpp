// SPDX-License-Identifier: Apache-2.0
#include "trainer/ops/score_blocks.h"

#include <ATen/ATen.h>

#include <limits>

namespace headroom::trainer::ops::score_blocks {
namespace {

// True where a query does not see a key. [queries, keys]
at::Tensor hidden_keys(const at::Tensor& scores, const Sight& sight) {
  const auto options = scores.options().dtype(at::kLong);
  const at::Tensor queries =
      at::arange(sight.first_query, sight.first_query + scores.size(0), options).unsqueeze(1);
  const at::Tensor keys = at::arange(sight.first_key, sight.first_key + scores.size(1), options);
  return (keys > queries).logical_or_(keys <= queries - sight.window);
}

}  // namespace

void soft_cap(const at::Tensor& scores, const Sight& sight, double cap, const at::Tensor& slopes) {
  const at::Tensor bent = at::div(scores, cap).tanh_();
  scores.copy_(bent).mul_(cap);
  if (slopes.defined()) slopes.copy_(bent).mul_(bent).neg_().add_(1);
  scores.masked_fill_(hidden_keys(scores, sight), 0);
}

void weigh(const at::Tensor& weights, const Sight& sight, const at::Tensor& slopes) {
  weights.mul_(slopes).masked_fill_(hidden_keys(weights, sight), 0);
}

void softmax(const at::Tensor& scores, const Sight& sight, const at::Tensor& logsumexp) {
  scores.masked_fill_(hidden_keys(scores, sight), -std::numeric_limits<double>::infinity());
  const at::Tensor sums = at::logsumexp(scores, 1, /*keepdim=*/true);
  if (logsumexp.defined()) logsumexp.copy_(sums);
  scores.sub_(sums).exp_();
}

void softmax_again(const at::Tensor& scores, const Sight& sight, const at::Tensor& logsumexp) {
  scores.sub_(logsumexp).exp_().masked_fill_(hidden_keys(scores, sight), 0);
}

void softmax_backward(const at::Tensor& grad, const Sight& sight, const at::Tensor& weights,
                      const at::Tensor& dout, const at::Tensor& out) {
  const at::Tensor mean = (dout * out).sum(1, /*keepdim=*/true);
  grad.sub_(mean).mul_(weights).masked_fill_(hidden_keys(grad, sight), 0);
}

}  // namespace headroom::trainer::ops::score_blocks
