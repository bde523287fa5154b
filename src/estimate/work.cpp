// SPDX-License-Identifier: Apache-2.0
#include "estimate/work.h"

namespace headroom::estimate {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(last_operation) + 1> names = {
    "product-forward",
    "product-input",
    "product-weight",
    "attention-forward",
    "attention-backward",
    "math-forward",
    "math-backward",
    "norm",
    "norm-backward",
    "layer-norm",
    "layer-norm-backward",
    "rotary",
    "swiglu",
    "swiglu-backward",
    "gelu",
    "gelu-backward",
    "cross-entropy",
    "add",
    "dropout",
    "embed",
    "embed-backward",
    "gradient-norm",
    "adamw",
    "adamw8bit",
    "sgd",
    "sgd-momentum",
    "adafactor"};

}  // namespace

std::string_view to_string(Operation operation) {
  return names.at(static_cast<std::size_t>(operation));
}

std::size_t size_count(Operation operation) {
  if (operation <= Operation::product_weight) return 3;
  return operation <= Operation::math_backward ? 2 : 1;
}

}  // namespace headroom::estimate
