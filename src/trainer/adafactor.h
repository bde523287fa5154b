// SPDX-License-Identifier: Apache-2.0
// Adafactor (Shazeer and Stern 2018) as transformers has it (transformers/optimization.py,
// Adafactor), without a first moment: of a matrix's squared gradients only the means of each row
// and of each column are kept, of a vector's all. An update is limited in its root mean square.
//
// Memory. States in fp32 (tag optimizer): R + C numbers for a matrix of R rows and C columns, N for
// a vector of N, allocated at the first step. Temporaries (workspace) of a step: R + C numbers in
// fp64 and C in fp32 (a vector is one row); but for fp32 also as many whole rows as block_elements
// has room for (ops/row_blocks.h), at least one, of the gradient and of the value in fp32. They are
// freed before the next parameter's.
#pragma once

#include "trainer/optimizer.h"

namespace headroom::trainer {

class Adafactor final : public Optimizer {
 public:
  Adafactor(std::deque<Parameter>& parameters, const AdafactorSettings& settings,
            const StateOptions& states = {})
      : Optimizer(parameters, states), settings_(settings) {}

  double learning_rate(double factor) const override;

 private:
  std::vector<StateShape> shape_states(at::IntArrayRef sizes, at::ScalarType type) const override;
  bool is_by_number() const override { return false; }
  void update(const Part& part, const Factors& factors) override;
  double rate_of_step(std::uint64_t step, double factor) const;

  AdafactorSettings settings_;
};

}  // namespace headroom::trainer
