// SPDX-License-Identifier: Apache-2.0
// What training drops at random.
#pragma once

namespace headroom::estimate {

// Probabilities with which training drops values, each where it is not 0. A probability of 0 means
// that the run has no mask and no copy for it.
struct Dropout {
  double embedding = 0;         // Of what the first layer is given.
  double attention = 0;         // Of the softmax's output.
  double residual = 0;          // Of what attention and MLP give, before it is added.
  double activation = 0;        // Between the MLP's matrices.
  double output = 0;            // Behind the final norm (T5).
  bool after_attention = true;  // DistilBERT's residual is of its MLP alone.
};

}  // namespace headroom::estimate
