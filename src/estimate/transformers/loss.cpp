// SPDX-License-Identifier: Apache-2.0
// Sources: transformers' loss/loss_utils.py (ForCausalLMLoss) and, before 4.46, the end of
// LlamaForCausalLM.forward; Unsloth's and Liger's kernels.
#include "estimate/transformers/loss.h"

#include <utility>

#include "estimate/transformers/liger.h"

namespace headroom::estimate::transformers {
namespace {

struct Rows {
  std::uint64_t count = 0;
  std::uint64_t vocabulary = 0;
};

Tensor cross_entropy(Run& run, const Tensor& rows) {
  Tape& tape = run.tape;
  if (run.job.compute.loss == Loss::triton || run.liger.cross_entropy)
    return ops::in_place_cross_entropy(tape, rows);
  return ops::nll_loss(tape, ops::log_softmax(tape, rows, "log_probabilities"));
}

// torch's cross_entropy of logits as they are. It names log_softmax's type, so that autocast leaves
// that one and widens what nll_loss is given (native/LossNLL.cpp, cross_entropy_loss).
Tensor plain_cross_entropy(Run& run, const Tensor& rows) {
  const Tensor narrow = ops::log_softmax(run.tape, rows, "log_probabilities");
  return ops::nll_loss(run.tape, run.autocast_to_fp32(narrow, "log_probabilities.fp32"));
}

Tensor as_rows(const Tensor& x) {
  return Tape::view(x, {x.elements() / x.shape.back(), x.shape.back()});
}

Tensor shifted_copy(Run& run, const Tensor& logits) {
  Shape shorter = logits.shape;
  if (shorter[1] > 1) --shorter[1];
  if (shorter[0] == 1) {  // Contiguous as it is.
    const Tensor part = ops::narrow_last(run.tape, logits, shorter.back());
    return Tape::view(part, shorter);
  }
  return ops::copy(run.tape, logits, shorter, "logits.shifted");
}

// torchtune's LinearCrossEntropyLoss (torchtune/modules/loss/cross_entropy_loss.py): the head's
// product and cross entropy for one part of the rows after another. Backward needs all
// log-probabilities, but logits and their fp32 copy exist for one part at a time.
Tensor loss_in_parts(Run& run, const Tensor& hidden, const LanguageHead& head, const Head& kind) {
  constexpr std::uint64_t parts = 8;  // num_output_chunks
  Tape& tape = run.tape;
  const Shape flat = as_rows(hidden).shape;
  const Tensor rows = ops::take(tape, as_rows(hidden), flat, "hidden.labelled");
  Tensor total;
  for (std::uint64_t i = 0; i < parts; ++i) {
    const std::uint64_t size = flat[0] / parts + (i < flat[0] % parts ? 1 : 0);
    if (size == 0) break;
    const Tensor logits = logits_of(run, ops::narrow(tape, rows, 0, size), head, kind);
    const Tensor wide = ops::cast(tape, logits, Element::fp32, "logits.fp32");
    const Tensor loss = ops::nll_loss(tape, ops::log_softmax(tape, wide, "log_probabilities"));
    total = i == 0 ? loss : ops::add(tape, total, loss, "loss.sum");
  }
  return total;
}

}  // namespace

Tensor logits_of(Run& run, const Tensor& hidden, const LanguageHead& head, const Head& kind) {
  Tape& tape = run.tape;
  const Scope scope(tape, "head", Component::logits);
  Linear named = head.linear;
  named.name = "logits";
  Tensor logits =
      apply(run, named, kind.input_scaled ? ops::scale(tape, hidden, "hidden.scaled") : hidden);
  if (head.offset) logits = ops::add(tape, logits, *head.offset, "logits.with_bias");
  if (kind.scaled) logits = ops::scale(tape, logits, "logits.scaled");
  if (!kind.soft_cap) return logits;
  logits = ops::tanh(tape, ops::scale(tape, logits, "logits.divided"), "logits.capped");
  return ops::scale(tape, logits, "logits.multiplied");
}

Tensor language_loss(Run& run, const Tensor& hidden, const LanguageHead& head, const Head& kind) {
  Tape& tape = run.tape;
  if (run.liger.fused_loss) {
    const Scope scope(tape, "head", Component::logits);
    return liger_linear_cross_entropy(run, as_rows(hidden), head.linear);
  }
  if (run.job.compute.loss == Loss::fused_liger) {
    const Scope scope(tape, "head", Component::logits);
    const Tensor rows = run.autocast(as_rows(hidden), "hidden.narrow");
    return ops::fused_linear_cross_entropy(tape, rows, weight_of(run, head.linear));
  }
  if (run.job.compute.loss == Loss::linear_chunks) {
    const Scope scope(tape, "head", Component::logits);
    return loss_in_parts(run, hidden, head, kind);
  }
  Tensor logits = logits_of(run, hidden, head, kind);
  const Scope scope(tape, "head", Component::logits);
  if (kind.plain_loss && run.job.compute.loss == Loss::eager)
    return plain_cross_entropy(run, as_rows(logits));
  // Before 4.46 the forward replaced its logits by the widened ones; a patched forward that feeds a
  // kernel of its own does so still.
  const bool replaced = run.version < loss_function || head.widens ||
                        (run.job.compute.loss == Loss::triton && !run.job.compute.keep_outputs);
  Tensor wide = ops::cast(tape, logits, Element::fp32, "logits.fp32");
  if (replaced) logits = wide;
  const Tensor labels = tape.empty(
      "labels.shifted", {{wide.shape[0], wide.shape[1]}, Element::int64}, Component::other);
  if (run.version >= shifted_labels) return cross_entropy(run, as_rows(wide));
  return cross_entropy(run, as_rows(shifted_copy(run, wide)));
}

}  // namespace headroom::estimate::transformers
