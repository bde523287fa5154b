// SPDX-License-Identifier: Apache-2.0
#include "estimate/diffusion/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "estimate/diffusion/prompts.h"
#include "estimate/diffusion/stages.h"

namespace headroom::estimate::diffusion {
namespace {

constexpr std::uint64_t recorded_steps = 2;

class Call {
 public:
  Call(Tape& tape, const PipelineShape& shape, const Settings& settings, const Hardware& hardware)
      : tape_(tape),
        shape_(shape),
        settings_(settings),
        element_(element_of(settings.dtype)),
        parts_(tape, shape, settings, hardware) {
    const std::uint64_t side = shape.default_side();
    const std::uint64_t factor = shape.vae.factor();
    height_ = (settings.height > 0 ? settings.height : side) / factor;
    width_ = (settings.width > 0 ? settings.width : side) / factor;
    guided_ = settings.guidance && shape.kind != PipelineKind::flux;
  }

  void run() {
    parts_.load();
    tape_.set_phase(phase_of(Stage::encode));
    Prompts prompts = encode_prompt({tape_, shape_, settings_, parts_, guided_});
    tape_.set_phase(phase_of(Stage::denoise));
    Tensor latents;
    if (shape_.kind == PipelineKind::flux)
      latents = denoise_flux(prompts);
    else
      latents = denoise(prompts);
    tape_.set_phase(phase_of(Stage::decode));
    decode(latents);
  }

 private:
  std::uint64_t copies() const { return guided_ ? 2 : 1; }
  Maps random_latents(const Shape& shape);
  Tensor denoise(Prompts& prompts);
  Tensor denoise_flux(const Prompts& prompts);
  Maps predict(const Maps& input, const Tensor& context, const Tensor& pooled, const Tensor& sizes);
  Tensor step(const Tensor& noise, const Tensor& latents);
  void decode(const Tensor& latents);

  Tape& tape_;
  const PipelineShape& shape_;
  const Settings& settings_;
  Element element_;
  Parts parts_;
  std::uint64_t height_ = 0, width_ = 0;  // Of latents.
  bool guided_ = false;
  std::vector<Tensor> kept_;  // The call's own variables.
};

Maps Call::random_latents(const Shape& shape) {
  const Tensor noise = tape_.empty("latents.noise", {shape, element_});
  if (shape_.kind == PipelineKind::sd3) return maps(noise);
  return maps(tape_.empty("latents", noise.meta()));  // × init_noise_sigma, or packed.
}

Maps Call::predict(const Maps& input, const Tensor& context, const Tensor& pooled,
                   const Tensor& sizes) {
  Model model = parts_.use(parts_.denoiser_weights);
  if (!parts_.unet) return parts_.mmdit->forward(model, input, context, pooled);
  model.processor = settings_.slicing;
  if (settings_.attention == AttentionChoice::eager && model.processor == Processor::sdpa)
    model.processor = Processor::eager;
  return parts_.unet->forward(model, input, {context, pooled, sizes});
}

// The schedulers compute in fp32 and give what the model works in.
Tensor Call::step(const Tensor& noise, const Tensor& latents) {
  const Tensor sample = ops::cast(tape_, latents, Element::fp32, "scheduler.sample");
  const Tensor change = tape_.empty("scheduler.change", {latents.shape, Element::fp32});
  const Tensor before = tape_.empty("scheduler.previous", {latents.shape, Element::fp32});
  return ops::cast(tape_, before, noise.element, "latents");
}

Tensor Call::denoise(Prompts& prompts) {
  const auto both = [&](Tensor& positive, const Tensor& negative, Name name) {
    if (!guided_ || !positive.defined()) return;
    positive = joined(tape_, negative, positive, 0, name);
  };
  const std::uint64_t images = settings_.batch();
  Tensor latents = random_latents({images, shape_.vae.latent, height_, width_}).tensor();
  both(prompts.positive, prompts.negative, "prompt_embeds.both");
  both(prompts.pooled, prompts.negative_pooled, "pooled_prompt_embeds.both");
  Tensor sizes;
  if (shape_.kind == PipelineKind::sdxl)
    sizes = tape_.empty("add_time_ids", {{images * copies(), 6}, element_});
  Maps input;
  Tensor noise;
  const std::uint64_t steps = std::min(settings_.steps, recorded_steps);
  for (std::uint64_t i = 0; i < steps; ++i) {
    input =
        guided_ ? maps(joined(tape_, latents, latents, 0, "latent_model_input")) : maps(latents);
    if (shape_.kind == PipelineKind::sdxl) input = maps(ops::scale(tape_, input, "scaled_input"));
    noise = predict(input, prompts.positive, prompts.pooled, sizes).tensor();
    if (guided_) {
      Tensor guided;
      {
        const Tensor difference = tape_.empty("guidance.difference", latents.meta());
        const Tensor scaled = tape_.empty("guidance.scaled", latents.meta());
        guided = tape_.empty("noise_pred", latents.meta());
      }
      noise = std::move(guided);
    }
    latents = step(noise, latents);
  }
  kept_ = {input.tensor(),   noise,          prompts.positive,
           prompts.negative, prompts.pooled, prompts.negative_pooled};
  return latents;
}

Tensor Call::denoise_flux(const Prompts& prompts) {
  const std::uint64_t images = settings_.batch();
  const std::uint64_t patches = (height_ / 2) * (width_ / 2);
  Tensor latents = random_latents({images, patches, 4 * shape_.vae.latent}).tensor();
  const Tensor places = tape_.empty("latent_image_ids", {{patches, 3}, element_});
  Tensor noise;
  const std::uint64_t steps = std::min(settings_.steps, recorded_steps);
  for (std::uint64_t i = 0; i < steps; ++i) {
    const Model model = parts_.use(parts_.denoiser_weights);
    noise = parts_.flux->forward(model, latents, prompts.positive, prompts.pooled);
    latents = step(noise, latents);
  }
  kept_ = {noise, places, prompts.positive, prompts.pooled};
  return latents;
}

void Call::decode(const Tensor& given) {
  const Shape planes = {settings_.batch(), shape_.vae.latent, height_, width_};
  Tensor latents = given;
  Weights& weights = parts_.vae_weights;
  const bool upcasts = shape_.kind == PipelineKind::sdxl && settings_.vae_upcast &&
                       shape_.vae.force_upcast && element_ == Element::fp16;
  if (upcasts) {
    weights.cast(Element::fp32);
    latents = ops::cast(tape_, latents, Element::fp32, "latents.fp32");
  }
  if (shape_.kind == PipelineKind::flux) latents = tape_.empty("unpacked", {planes, element_});
  latents = tape_.empty("latents.unscaled", latents.meta());
  if (shape_.kind == PipelineKind::sd3 || shape_.kind == PipelineKind::flux)
    latents = tape_.empty("latents.shifted", latents.meta());
  Tensor image;
  {
    Model model = parts_.use(weights);
    if (settings_.attention == AttentionChoice::eager) model.processor = Processor::eager;
    image = parts_.vae.decode(model, maps(latents), {settings_.vae_slicing, settings_.vae_tiling})
                .tensor();
  }
  if (upcasts) weights.cast(Element::fp16);
  const Tensor halved = tape_.empty("image.halved", image.meta());
  const Tensor shifted = tape_.empty("image.shifted", image.meta());
}

Error no_such(const char* setting, const PipelineShape& shape) {
  return {Errc::unsupported,
          fmt::format("expected a setting of {}, found {}, which it does not have",
                      to_string(shape.kind), setting),
          "leave it out"};
}

}  // namespace

Status check_settings(const PipelineShape& shape, const Settings& settings) {
  if (!shape.unet && settings.slicing != Processor::sdpa)
    return no_such("enable_attention_slicing", shape);
  if (!shape.unet && settings.attention == AttentionChoice::eager)
    return no_such("AttnProcessor", shape);
  const std::uint64_t factor = shape.vae.factor() * (shape.unet ? 1 : 2);
  for (const std::uint64_t side : {settings.height, settings.width}) {
    if (side % factor == 0) continue;
    return Error{Errc::invalid,
                 fmt::format("expected a height and width that {} divides, found {}", factor, side),
                 fmt::format("write {}", std::max(factor, side / factor * factor))};
  }
  return Done{};
}

Recording record_pipeline(const PipelineShape& shape, const Settings& settings,
                          const Hardware& hardware) {
  Recorder recorder;
  {
    Tape tape(recorder, hardware.of_products);
    tape.enable_grad(false);
    tape.set_scope({0, Component::activations});
    Tensor workspace;
    Call call(tape, shape, settings, hardware);
    if (hardware.handle_workspace > 0)
      workspace = tape.empty("blas_workspace", {{hardware.handle_workspace}, Element::uint8},
                             Component::workspace);
    call.run();
  }
  return recorder.take();
}

std::vector<PartSize> part_sizes(const PipelineShape& shape, const Settings& settings) {
  Recorder recorder;
  std::vector<PartSize> sizes;
  {
    Tape tape(recorder);
    tape.enable_grad(false);
    const Parts parts(tape, shape, settings, {});
    const auto note = [&](const char* name, const Weights& weights) {
      if (weights.bytes() > 0) sizes.push_back({name, weights.parameters(), weights.bytes()});
    };
    note("text_encoder", parts.clip_weights);
    note("text_encoder_2", parts.clip_2_weights);
    note(shape.kind == PipelineKind::flux ? "text_encoder_2" : "text_encoder_3", parts.t5_weights);
    note(shape.unet ? "unet" : "transformer", parts.denoiser_weights);
    note("vae", parts.vae_weights);
    note("safety_checker", parts.checker_weights);
  }
  return sizes;
}

}  // namespace headroom::estimate::diffusion
