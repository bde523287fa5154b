// SPDX-License-Identifier: Apache-2.0
// Generating: the prompt in one pass, then a token at a time with a cache that grows by torch.cat.
// Sources: transformers' generation/utils.py and cache_utils.py (DynamicCache).
#include <algorithm>
#include <utility>

#include "estimate/transformers/loss.h"
#include "estimate/transformers/network.h"

namespace headroom::estimate::transformers {
namespace {

// Since here generate() asks for the logits of the last position only (num_logits_to_keep).
constexpr Version last_logits_only{4, 45};

// How many tokens the cache holds after each pass that is recorded: the passes between are like
// their neighbours, so that the sizes grow by an eighth; the last two are as they are.
std::vector<std::uint64_t> recorded_passes(std::uint64_t generated) {
  std::vector<std::uint64_t> at;
  for (std::uint64_t i = 1; i < generated; i += 1 + i / 8) at.push_back(i);
  if (generated > 1 && at.back() + 1 < generated) at.push_back(generated - 1);
  return at;
}

}  // namespace

// The scores in fp32, sorted for top-k and top-p, and the draw.
void Network::sample(Tensor logits) {
  Tape& tape = run_.tape;
  const Meta scores{{run_.batch, model_.vocabulary}, Element::fp32};
  const Tensor last = tape.empty("next_token_logits", scores, Component::logits);
  logits = {};
  if (run_.trains()) {  // GRPOTrainer draws from all tokens: torch.multinomial's own copy.
    const Tensor probabilities = tape.empty("probabilities", scores, Component::logits);
    const Tensor drawn = tape.empty("exponentials", scores, Component::logits);
    return;
  }
  const Tensor sorted = tape.empty("scores.sorted", scores, Component::logits);
  const Tensor order =
      tape.empty("scores.order", {scores.shape, Element::int64}, Component::logits);
  const Tensor probabilities = tape.empty("probabilities", scores, Component::logits);
}

void Network::generate() {
  Tape& tape = run_.tape;
  tape.set_phase(Phase::generate);
  tape.enable_grad(false);
  const std::uint64_t prompt = run_.job.batch.prompt;
  // AutoGPTQ's ExLlama kernels, which it takes for 4 bits where nothing is trained, share one
  // buffer in which the largest weight has room (exllama_ext, temp_dq).
  Tensor unpacked;
  if (run_.job.method.base == WeightFormat::gptq4)
    unpacked = tape.empty("exllama.dequantised", {{run_.largest_quantised}, Element::fp16},
                          Component::workspace);
  if (model_.head.kind != Head::Kind::language || !model_.main().causal) {
    for (std::size_t i = 0; i < stacks_.size(); ++i)
      const Tensor output = output_of(run_stack(i, prompt, {}));
    return;
  }
  generate_tokens(prompt, run_.job.batch.generate);
}

void Network::answer(std::uint64_t prompt, std::uint64_t answered) {
  generate_tokens(prompt, answered);
}

void Network::generate_tokens(std::uint64_t prompt, std::uint64_t generated) {
  Tape& tape = run_.tape;
  Pass pass;
  std::uint64_t given = prompt;
  pass.memory = run_encoders(prompt);
  std::vector<LayerCache> cross(model_.main().layers);
  if (pass.memory) {
    pass.cross_cache = &cross;
    given = 1;  // The decoder begins with one token.
  }
  std::vector<LayerCache> cache(model_.main().layers);
  pass.cache = &cache;
  const Tensor pixels = make_pixels();
  const auto step = [&](std::uint64_t tokens, const Tensor& seen) {
    Tensor features;
    Tensor hidden = run_main(tokens, pass, seen, features);
    if (run_.version >= last_logits_only && tokens > 1)
      hidden = Tape::view(hidden, {run_.batch, 1, hidden.shape[2]});
    hidden = head_input(hidden);
    Tensor logits = logits_of(run_, hidden, {*head_, offset_}, model_.head);
    // accelerate widens what a model gives under its autocast.
    const bool widened = run_.trains() && run_.autocasts();
    if (run_.version < last_logits_only || model_.head.widens || widened)
      logits = ops::cast(tape, logits, Element::fp32, "logits.fp32");
    run_.clear_autocast_cache();
    sample(std::move(logits));
  };
  step(given, pixels);
  for (const std::uint64_t at : recorded_passes(generated)) {
    grow(cache, given + at - 1);
    step(1, {});
  }
}

// What the passes that are not recorded leave: a cache of so many tokens.
void Network::grow(std::vector<LayerCache>& cache, std::uint64_t tokens) {
  if (model_.main().state_space) return;  // A state is as large as it was.
  for (std::size_t i = 0; i < cache.size(); ++i) {
    if (!contains(model_.main().mixer(i), Mixer::attention)) continue;
    const Scope scope(run_.tape, "layers", i);
    const std::uint64_t window = model_.main().window(i);
    const std::uint64_t kept = window == 0 ? tokens : std::min(window, tokens);
    for (Tensor* part : {&cache[i].keys, &cache[i].values}) {
      if (part->shape[2] >= kept) continue;
      Meta meta = part->meta();
      meta.shape[2] = kept;
      *part = run_.tape.empty("cache", meta, Component::kv_cache);
    }
  }
}

}  // namespace headroom::estimate::transformers
