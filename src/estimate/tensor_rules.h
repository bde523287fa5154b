// SPDX-License-Identifier: Apache-2.0
// The tensors that jobs allocate, as formulas over a job's dimensions: data for explain.h. What is
// saved and what is temporary is not told apart; a failed allocation may be either.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "estimate/job_dimensions.h"

namespace headroom::estimate {

// One axis of a shape: a dimension, or a number of the architecture.
struct Axis {
  Dimension dimension = Dimension::batch;
  std::uint64_t times = 1;
  std::uint64_t divided_by = 1;
  std::string_view constant;  // What `times` counts, where the axis is that number alone.
};

// What would make the tensor smaller or spare it.
enum class Remedy : std::uint8_t {
  attention,
  mask,
  activation,
  loss,
  weight,
  flat_buffer,
  cache,
  decode,
  image_attention,
  convolution,
};

// Which element types it may have, and how unusual each is: no_such leaves it out.
struct Elements {
  static constexpr unsigned no_such = 99;
  unsigned wide = 0;          // 4 bytes
  unsigned half = 0;          // 2 bytes
  unsigned narrow = no_such;  // 1 byte
  std::string_view narrow_name = "int8/fp8";
};

struct TensorRule {
  std::string_view tensor;  // In plain words.
  std::vector<Axis> shape;  // At most six.
  unsigned doubt = 0;       // 0: every such job has one; more: fewer have.
  Elements elements = {};
  Remedy remedy = Remedy::activation;
  bool in_compute_type = true;  // It is of the type that the job computes in, where that is known.
  std::string_view covered_by = {};  // Another rule that names it as well where both have its size.
};

std::vector<TensorRule> tensor_rules();

// What makes it smaller, the best first.
std::vector<std::string> removed_by(Remedy remedy);

}  // namespace headroom::estimate
