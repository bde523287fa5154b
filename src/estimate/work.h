// SPDX-License-Identifier: Apache-2.0
// What headroom-train does in a step, as far as time goes: which of its operations run, on what
// sizes, and how often. What one of them takes is measured (headroom test --calibrate); how often
// it runs follows from the job, by the same walk over the layers that counts memory.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "estimate/job.h"

namespace headroom::estimate {

// The operations of src/trainer. Sizes: of a product rows, inner, columns; of attention the
// sequence and the size of a head, for one head of one sample; of all others how many numbers.
enum class Operation : std::uint8_t {
  product_forward,  // left · rightᵀ: a projection, whose weight is [columns, inner]
  product_input,    // left · right: the gradient of a projection's input
  product_weight,   // leftᵀ · right: the gradient of its weight
  attention_forward,
  attention_backward,
  math_forward,  // Attention that keeps all probabilities.
  math_backward,
  norm,
  norm_backward,
  layer_norm,
  layer_norm_backward,
  rotary,
  swiglu,
  swiglu_backward,
  gelu,
  gelu_backward,
  cross_entropy,
  add,  // In place.
  dropout,
  embed,
  embed_backward,
  gradient_norm,
  adamw,
  adamw8bit,
  sgd,
  sgd_momentum,
  adafactor,
};
inline constexpr auto last_operation = Operation::adafactor;
std::string_view to_string(Operation operation);  // "product-forward"

// How many of a call's sizes mean something: 3, 2 or 1.
std::size_t size_count(Operation operation);

struct Call {
  Operation operation;
  DType dtype;
  std::array<std::uint64_t, 3> size{1, 1, 1};

  auto operator<=>(const Call&) const = default;
};

// Calls that are alike are counted; half a call is what a shorter one takes.
class Work {
 public:
  void add(const Call& call, double times = 1) { calls_[call] += times; }
  void add(const Work& other, double times = 1) {
    for (const auto& [call, count] : other.calls_) calls_[call] += count * times;
  }
  const std::map<Call, double>& calls() const& { return calls_; }
  const std::map<Call, double>& calls() const&& = delete;

 private:
  std::map<Call, double> calls_;
};

}  // namespace headroom::estimate
