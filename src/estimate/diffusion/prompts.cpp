// SPDX-License-Identifier: Apache-2.0
#include "estimate/diffusion/prompts.h"

#include <vector>

namespace headroom::estimate::diffusion {
namespace {

constexpr std::uint64_t clip_tokens = 77;

// prompt_embeds.repeat(1, images, 1): a copy even of one.
Tensor repeated(Tape& tape, const Tensor& x, std::uint64_t images, Name name) {
  Meta meta = x.meta();
  meta.shape[0] *= images;
  return tape.empty(name, meta);
}

class Encoder {
 public:
  explicit Encoder(const EncodedCall& call)
      : tape_(call.tape),
        shape_(call.shape),
        settings_(call.settings),
        parts_(call.parts),
        guided_(call.guided) {}

  Prompts run() {
    switch (shape_.kind) {
      case PipelineKind::sd:
        return encode_sd();
      case PipelineKind::sdxl:
        return encode_sdxl();
      case PipelineKind::sd3:
        return encode_sd3();
      case PipelineKind::flux:
        break;
    }
    return encode_flux();
  }

 private:
  Tensor ids(std::uint64_t tokens) {
    return tape_.empty("input_ids", {{settings_.prompts, tokens}, Element::int64});
  }
  std::uint64_t t5_tokens() const {
    const std::uint64_t own = shape_.kind == PipelineKind::flux ? 512 : 256;
    return settings_.max_sequence_length > 0 ? settings_.max_sequence_length : own;
  }

  Clip::Output run_clip(const Clip& clip, Weights& weights, bool all_hidden) {
    const Model model = parts_.use(weights);
    const Tensor tokens = ids(clip_tokens);
    return clip.forward(model, tokens, all_hidden);
  }
  Tensor run_t5() {
    const Model model = parts_.use(parts_.t5_weights);
    const Tensor tokens = ids(t5_tokens());
    return parts_.t5->forward(model, tokens);
  }

  Prompts encode_sd();
  Prompts encode_sdxl();
  Prompts encode_sd3();
  Prompts encode_flux();
  struct Joint {
    Tensor prompt, pooled;
  };
  Joint encode_both_clips(std::vector<Tensor>& kept);
  Joint encode_all_three(std::vector<Tensor>& kept);

  Tape& tape_;
  const PipelineShape& shape_;
  const Settings& settings_;
  Parts& parts_;
  bool guided_;
};

Prompts Encoder::encode_sd() {
  Prompts result;
  const auto once = [&](Name name) {
    const Tensor last = run_clip(*parts_.clip, parts_.clip_weights, false).last;
    return repeated(tape_, last, settings_.images, name);
  };
  result.positive = once("prompt_embeds");
  if (guided_) result.negative = once("negative_prompt_embeds");
  return result;
}

Encoder::Joint Encoder::encode_both_clips(std::vector<Tensor>& kept) {
  Joint joint;
  {
    const Clip::Output first = run_clip(*parts_.clip, parts_.clip_weights, true);
    kept.push_back(first.hidden[first.hidden.size() - 2]);
  }
  const Clip::Output second = run_clip(*parts_.clip_2, parts_.clip_2_weights, true);
  joint.pooled = second.pooled;
  kept.push_back(second.hidden[second.hidden.size() - 2]);
  const std::size_t count = kept.size();
  joint.prompt = joined(tape_, kept[count - 2], kept[count - 1], 2, "prompt_embeds");
  return joint;
}

// Without a negative prompt, SDXL's is made of zeros.
Prompts Encoder::encode_sdxl() {
  std::vector<Tensor> kept, kept_negative;
  Joint positive = encode_both_clips(kept);
  Joint negative;
  if (guided_ && settings_.negative_prompt) {
    negative = encode_both_clips(kept_negative);
  } else if (guided_) {
    negative.prompt = tape_.empty("negative_prompt_embeds", positive.prompt.meta());
    negative.pooled = tape_.empty("negative_pooled", positive.pooled.meta());
  }
  Prompts result;
  const auto repeat = [&](Tensor& x, Name name) {
    Tensor all = repeated(tape_, x, settings_.images, name);
    x = {};
    return all;
  };
  result.positive = repeat(positive.prompt, "prompt_embeds");
  if (guided_) result.negative = repeat(negative.prompt, "negative_prompt_embeds");
  result.pooled = repeat(positive.pooled, "pooled_prompt_embeds");
  if (guided_) result.negative_pooled = repeat(negative.pooled, "negative_pooled_prompt_embeds");
  return result;
}

// All that encode_prompt() has as variables lives until it returns.
Encoder::Joint Encoder::encode_all_three(std::vector<Tensor>& kept) {
  const auto with_clip = [&](const Clip& clip, Weights& weights) {
    Joint own;
    {
      const Clip::Output output = run_clip(clip, weights, true);
      own.prompt = output.hidden[output.hidden.size() - 2];
      own.pooled = output.pooled;
    }
    own.prompt = repeated(tape_, own.prompt, settings_.images, "prompt_embed");
    own.pooled = repeated(tape_, own.pooled, settings_.images, "pooled_prompt_embed");
    kept.push_back(own.prompt);
    kept.push_back(own.pooled);
    return own;
  };
  const Joint first = with_clip(*parts_.clip, parts_.clip_weights);
  const Joint second = with_clip(*parts_.clip_2, parts_.clip_2_weights);
  Tensor clips = joined(tape_, first.prompt, second.prompt, 2, "clip_prompt_embeds");
  Tensor t5;
  if (parts_.t5) {
    const Tensor last = run_t5();
    t5 = repeated(tape_, last, settings_.images, "t5_prompt_embed");
  } else {
    t5 = tape_.empty("t5_prompt_embed", {{settings_.batch(), t5_tokens(), shape_.mmdit->context},
                                         element_of(settings_.dtype)});
  }
  Meta padded = clips.meta();
  padded.shape[2] = t5.shape[2];
  clips = tape_.empty("clip_prompt_embeds.padded", padded);
  kept.push_back(t5);
  kept.push_back(clips);
  return {joined(tape_, clips, t5, 1, "prompt_embeds"),
          joined(tape_, first.pooled, second.pooled, 1, "pooled_prompt_embeds")};
}

Prompts Encoder::encode_sd3() {
  std::vector<Tensor> kept;
  const Joint positive = encode_all_three(kept);
  Joint negative;
  if (guided_) negative = encode_all_three(kept);
  return {positive.prompt, negative.prompt, positive.pooled, negative.pooled};
}

Prompts Encoder::encode_flux() {
  Prompts result;
  {
    const Tensor pooled = run_clip(*parts_.clip, parts_.clip_weights, false).pooled;
    result.pooled = repeated(tape_, pooled, settings_.images, "pooled_prompt_embeds");
  }
  const Tensor last = run_t5();
  result.positive = repeated(tape_, last, settings_.images, "prompt_embeds");
  return result;
}

}  // namespace

Prompts encode_prompt(const EncodedCall& call) {
  return Encoder(call).run();
}

Tensor joined(Tape& tape, const Tensor& a, const Tensor& b, std::size_t dimension, Name name) {
  Meta meta = a.meta();
  meta.shape[dimension] += b.shape[dimension];
  return tape.empty(name, meta);
}

}  // namespace headroom::estimate::diffusion
