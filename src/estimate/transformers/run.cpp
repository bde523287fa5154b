// SPDX-License-Identifier: Apache-2.0
#include "estimate/transformers/run.h"

namespace headroom::estimate::transformers {

Tensor Run::autocast_weight(const Tensor& weight, Name name) {
  if (!autocasts() || weight.element == compute()) return weight;
  // The weights of TRL's reference model are never told that they need no gradient.
  const bool trained = weight.requires_grad() || reference;
  const bool cached = trained && weight.element == Element::fp32;
  if (!cached) return ops::cast(tape, weight, compute(), name + ".cast");
  Tensor& cast = casts[weight.storage->tensor()];
  if (!cast.defined()) cast = ops::cast(tape, weight, compute(), name + ".cast");
  return cast;
}

}  // namespace headroom::estimate::transformers
