// SPDX-License-Identifier: Apache-2.0
#include "estimate/projection.h"

#include "estimate/ops.h"

namespace headroom::estimate {

void Projection::attach_adapter(Tape& tape, const Job::Method& method) {
  const Element element = element_of(method.adapter_dtype);
  const std::uint64_t in = weight.shape[1];
  const std::uint64_t out = weight.shape[0];
  lora_a = tape.parameter(name + ".lora_A.weight", {{method.rank, in}, element},
                          Component::adapters, true);
  lora_b = tape.parameter(name + ".lora_B.weight", {{out, method.rank}, element},
                          Component::adapters, true);
}

Tensor Projection::apply(Tape& tape, const Job::Method& method, const Tensor& x) const {
  // What it makes is called by the last part: whoever applies it is in the scope of the first.
  const std::string own_name = name.substr(name.rfind('.') + 1);
  Tensor base = ops::linear(tape, x, weight, bias, own_name);
  if (!lora_a) return base;
  const Scope scope(tape, own_name);
  const Tensor input = ops::cast(tape, x, lora_a->element, "lora_input");
  const Tensor dropped = ops::dropout(tape, input, method.dropout, "lora_dropout");
  const Tensor low = ops::linear(tape, dropped, *lora_a, std::nullopt, "lora_A");
  const Tensor high = ops::linear(tape, low, *lora_b, std::nullopt, "lora_B");
  const Tensor sum = ops::add(tape, base, ops::scale(tape, high, "lora_scaled"), "with_adapter");
  return ops::cast(tape, sum, base.element, "narrow");
}

}  // namespace headroom::estimate
