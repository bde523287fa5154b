// SPDX-License-Identifier: Apache-2.0
// The backward of most operations on one tensor, views of a part of it included.
#pragma once

#include "estimate/tape.h"

namespace headroom::estimate {

// A new gradient of the input's shape, whatever the shape of the output.
inline auto one_gradient(Name name, const Meta& input) {
  return [name, input](Tape& t, const Tensor&, const Node&) -> Tensors {
    return {t.empty(name + ".grad", input)};
  };
}

}  // namespace headroom::estimate
