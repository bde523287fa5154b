// SPDX-License-Identifier: Apache-2.0
#include "estimate/transformers/answer_scores.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "estimate/one_gradient.h"

namespace headroom::estimate::transformers {
namespace {

constexpr std::uint64_t tile_rows = 4096;      // TOKEN_CHUNK_SIZE
constexpr std::uint64_t tile_columns = 32768;  // _CHUNKED_LOGPROB_CHUNK_SIZE
constexpr std::uint64_t row_statistics = 7;    // running_max … target_logit

// One walk over the tiles. What each is made of comes anew before the one before it goes, as a
// name of Python's is bound again.
struct LogitTiles {
  std::uint64_t rows = 0, columns = 0, width = 0;
  Element hidden = Element::fp32, weight = Element::fp32, compute = Element::fp32;

  Tensor buffer(Tape& tape) const {
    return tape.empty("logits.tile", {{std::min(rows, tile_rows), tile_columns}, compute},
                      Component::logits);
  }

  // `each`: what is done with one tile, beside the product that makes it.
  template <class Function>
  void walk(Tape& tape, bool keeps_weight, const Function& each) const {
    Tensor part, slice;
    for (std::uint64_t at = 0; at < rows; at += tile_rows) {
      const Meta some{{std::min(tile_rows, rows - at), width}, compute};
      if (hidden != compute) part = tape.empty("hidden.part", some, Component::logits);
      for (std::uint64_t from = 0; from < columns; from += tile_columns) {
        const Meta some_weight{{std::min(tile_columns, columns - from), width}, compute};
        if (weight != compute) slice = tape.empty("head.part", some_weight, Component::logits);
        tape.multiply();
        if (!keeps_weight) slice = {};
        each();
      }
    }
  }
};

// ChunkedLogProbFunction.backward: the gradients are summed in fp32, and narrowed at its end while
// the sums are still there.
auto backward_of(const LogitTiles& tiles) {
  return [tiles](Tape& tape, const Tensor&, const Node& node) -> Tensors {
    const Meta rows{{tiles.rows, tiles.width}, Element::fp32};
    const Meta matrix{{tiles.columns, tiles.width}, Element::fp32};
    Tensor hidden_sum, weight_sum, bias_sum;
    if (node.wants(0)) hidden_sum = tape.empty("hidden.grad_fp32", rows);
    if (node.wants(1))
      weight_sum = tape.empty("head.weight_grad_fp32", matrix, Component::gradients);
    if (node.inputs.size() > 2 && node.wants(2))
      bias_sum = tape.empty("head.bias_grad_fp32", {{tiles.columns}, Element::fp32});
    const Tensor buffer = tiles.buffer(tape);
    tiles.walk(tape, true, [&] {
      if (hidden_sum.defined()) tape.multiply();
      if (weight_sum.defined()) tape.multiply();
    });
    Tensors grads(node.inputs.size());
    const auto narrow = [&tape](const Tensor& sum, Element element, Name name) {
      return sum.defined() ? ops::cast(tape, sum, element, name) : Tensor{};
    };
    grads[0] = narrow(hidden_sum, tiles.hidden, "hidden.grad");
    grads[1] = narrow(weight_sum, tiles.weight, "head.weight_grad");
    if (bias_sum.defined()) grads[2] = narrow(bias_sum, tiles.weight, "head.bias_grad");
    return grads;
  };
}

// The rows that are scored; each place of them is two numbers while they are picked.
Tensor pick_rows(Run& run, const Tensor& hidden, std::uint64_t count) {
  Tape& tape = run.tape;
  const Tensor shifted = ops::narrow(tape, hidden, 1, hidden.shape[1] - 1);
  const Tensor places = tape.empty("places", {{count, 2}, Element::int64}, Component::other);
  return ops::take(tape, shifted, {count, hidden.shape.back()}, "hidden.answers");
}

// What was computed for the answers, in its place among all tokens.
Tensor scattered(Run& run, const Tensor& values, const Shape& all, Name name) {
  const Meta from = values.meta();
  return run.tape.connect(run.tape.empty(name, {all, values.element}), {values}, {},
                          one_gradient(name, from));
}

Tensor score_tiles(Run& run, const Tensor& hidden, const LanguageHead& head,
                   const Answers& answers) {
  Tape& tape = run.tape;
  const Scope scope(tape, "head", Component::logits);
  const Shape all = {hidden.shape[0], hidden.shape[1] - 1};
  const std::uint64_t scored = std::min(answers.tokens, all[1]);
  const std::uint64_t count = hidden.shape[0] * scored;
  const Tensor labels =
      tape.empty("labels", {{hidden.shape[0], hidden.shape[1]}, Element::int64}, Component::other);
  const Tensor rows = pick_rows(run, hidden, count);
  const Tensor& weight = weight_of(run, head.linear);
  const std::optional<Tensor>& bias = bias_of(run, head.linear);
  const Element compute = run.autocasts() ? run.compute() : hidden.element;
  const LogitTiles tiles{count,          head.linear.out, hidden.shape.back(),
                         hidden.element, weight.element,  compute};
  const Meta row{{count}, Element::fp32};
  const Tensor targets = tape.empty("targets", {row.shape, Element::int64}, Component::other);
  Tensor log_z, entropy, made;
  {
    std::vector<Tensor> statistics;
    for (std::uint64_t i = 0; i < row_statistics; ++i)
      statistics.push_back(tape.empty("statistics", row));
    const Tensor buffer = tiles.buffer(tape);
    tiles.walk(tape, false, [] {});
    log_z = tape.empty("log_z", row);
    made = tape.empty("log_probabilities.rows", row);
    entropy = tape.empty("entropy.rows", row);
  }
  Tensors inputs = {rows, weight};
  if (bias) inputs.push_back(*bias);
  made = tape.connect(made, inputs, {rows, weight, targets, log_z, entropy}, backward_of(tiles));
  return scattered(run, made, all, "log_probabilities");
}

// selective_log_softmax, a row of the batch after the other: of fp32 the sum of its exponentials,
// for which the logits are kept; of narrower types log_softmax, whose result is kept. Backward puts
// the rows' gradients together.
Tensor score_rows(Run& run, const Tensor& shifted) {
  Tape& tape = run.tape;
  const Meta all = shifted.meta();
  const bool wide = all.element == Element::fp32;
  const Meta one{{all.shape[1], all.shape[2]}, all.element};
  Tensor kept = shifted;
  if (wide || !tape.grad_enabled())
    const Tensor exponentials = tape.empty("logits.row", one);
  else
    kept = tape.empty("log_probabilities.all", all);
  const Tensor scores =
      tape.empty("log_probabilities", {{all.shape[0], all.shape[1]}, all.element});
  return tape.connect(scores, {shifted}, {kept},
                      [all, wide](Tape& t, const Tensor&, const Node&) -> Tensors {
                        Tensor rows;
                        if (wide) rows = t.empty("logits.row_grads", all);
                        return {t.empty("logits.grad", all)};
                      });
}

// All logits, of which the ones for the prompt are made for nothing.
Scores score_logits(Run& run, const Tensor& hidden, const LanguageHead& head, const Head& kind) {
  Tape& tape = run.tape;
  Tensor logits = logits_of(run, hidden, head, kind);
  const Scope scope(tape, "head", Component::logits);
  // accelerate widens what a model gives, once its autocast is over.
  run.clear_autocast_cache();
  if (run.autocasts()) logits = ops::cast(tape, logits, Element::fp32, "logits.fp32");
  const Tensor shifted = ops::narrow(tape, logits, 1, logits.shape[1] - 1);
  return {score_rows(run, shifted), logits};
}

}  // namespace

Scores score_answers(Run& run, const Tensor& hidden, const LanguageHead& head, const Head& kind,
                     const Answers& answers) {
  if (!answers.tiled) return score_logits(run, hidden, head, kind);
  return {score_tiles(run, hidden, head, answers), {}};
}

}  // namespace headroom::estimate::transformers
