// SPDX-License-Identifier: Apache-2.0
// A named tensor of the model, and the gradient that a step adds up for it.
#pragma once

#include <ATen/core/Tensor.h>

#include <deque>
#include <string>

#include "allocator/component.h"
#include "trainer/quantised_matrix.h"

namespace headroom::trainer {

struct Parameter {
  std::string name;  // As in Hugging Face: "model.layers.0.self_attn.q_proj.weight".
  at::Tensor value;  // Undefined where the weight is quantised.
  at::Tensor grad;   // Undefined until the first micro-batch of a step reaches it.
  bool trainable = false;
  // Of a tied head on another process than the embedding: that one counts and saves it.
  bool is_copy = false;
  QuantisedRows quantised = {};  // Frozen, and in place of the value.
};

// grad += alpha · left · right, for grad of the shape [rows of left, columns of right].
//
// Memory: if grad is undefined, it is allocated in the parameter's dtype under the tag `gradients`
// and written by the product; else the product is added in place. Temporaries: ops/product.h.
void add_product_to_gradient(Parameter& parameter, const at::Tensor& left, const at::Tensor& right,
                             double alpha = 1.0);

// grad += rows summed: [N, W] → [W]. Memory: grad if it is undefined, else a temporary of [W].
void add_row_sum_to_gradient(Parameter& parameter, const at::Tensor& rows);

// grad += addend, of the parameter's shape. Memory: grad if it is undefined.
void add_to_gradient(Parameter& parameter, const at::Tensor& addend);

// Gives back what is there of a step that is not finished, or is to be done again.
void drop_gradients(std::deque<Parameter>& parameters);

}  // namespace headroom::trainer
