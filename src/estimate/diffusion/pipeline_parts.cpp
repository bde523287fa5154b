// SPDX-License-Identifier: Apache-2.0
#include "estimate/diffusion/pipeline_parts.h"

#include <algorithm>

#include "estimate/diffusion/stages.h"

namespace headroom::estimate::diffusion {
namespace {

template <class Made, class Shape>
std::optional<Made> make(Tape& tape, Name name, Weights& weights,
                         const std::optional<Shape>& shape) {
  if (!shape) return std::nullopt;
  const Scope scope(tape, name, Component::weights);
  return Made(weights, *shape);
}

Vae make_vae(Tape& tape, Weights& weights, const VaeShape& shape) {
  const Scope scope(tape, "vae", Component::weights);
  return {weights, shape};
}

}  // namespace

Parts::Parts(Tape& tape, const PipelineShape& shape, const Settings& settings,
             const Hardware& hardware)
    : clip_weights(tape, element_of(settings.dtype)),
      clip_2_weights(tape, element_of(settings.dtype)),
      t5_weights(tape, element_of(settings.dtype)),
      denoiser_weights(tape, element_of(settings.dtype)),
      vae_weights(tape, element_of(settings.dtype)),
      checker_weights(tape, element_of(settings.dtype)),
      clip(make<Clip>(tape, "text_encoder", clip_weights, shape.clip)),
      clip_2(make<Clip>(tape, "text_encoder_2", clip_2_weights, shape.clip_2)),
      t5(make<T5>(tape, "t5", t5_weights, shape.t5)),
      unet(make<Unet>(tape, "unet", denoiser_weights, shape.unet)),
      mmdit(make<Mmdit>(tape, "transformer", denoiser_weights, shape.mmdit)),
      flux(make<Flux>(tape, "transformer", denoiser_weights, shape.flux)),
      vae(make_vae(tape, vae_weights, shape.vae)),
      tape_(tape),
      settings_(settings),
      hardware_(hardware),
      order_({&clip_weights, &clip_2_weights, &t5_weights, &denoiser_weights, &vae_weights}) {
  if (shape.checker && settings.safety_checker) {
    const Scope scope(tape, "safety_checker", Component::weights);
    make_checker(checker_weights, *shape.checker);
  }
  std::erase_if(order_, [](const Weights* one) { return one->parameters() == 0; });
}

// The safety checker is left out of every offload.
void Parts::load() {
  checker_weights.move_in();
  for (Weights* one : order_) {
    if (settings_.offload == Offload::none) one->move_in();
    if (settings_.offload == Offload::sequential) one->move_in_buffers();
  }
}

Model Parts::use(Weights& weights) {
  if (settings_.offload == Offload::model) {
    const auto at = std::find(order_.begin(), order_.end(), &weights);
    if (at != order_.begin()) {
      (*(at - 1))->move_out();
      mark_emptied_cache(tape_);
    }
    weights.move_in();
  }
  const Kernel kernel =
      settings_.attention == AttentionChoice::math ? Kernel::math : hardware_.kernel;
  return {tape_, weights, kernel, Processor::sdpa, hardware_.unfolds};
}

}  // namespace headroom::estimate::diffusion
