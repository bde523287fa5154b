// SPDX-License-Identifier: Apache-2.0
// The components of a pipeline that runs, and which of them are on the device.
#pragma once

#include <optional>
#include <vector>

#include "estimate/diffusion/pipeline.h"
#include "estimate/diffusion/text_encoders.h"
#include "estimate/diffusion/transformers.h"
#include "estimate/diffusion/unet.h"
#include "estimate/diffusion/vae.h"

namespace headroom::estimate::diffusion {

class Parts {
 public:
  Parts(Tape& tape, const PipelineShape& shape, const Settings& settings, const Hardware& hardware);

  // pipe.to("cuda"), or what an offload leaves on the device.
  void load();
  // Before a component runs: enable_model_cpu_offload moves the one before it out, and it in
  // (accelerate/hooks.py, CpuOffload.pre_forward).
  Model use(Weights& weights);

  Weights clip_weights, clip_2_weights, t5_weights, denoiser_weights, vae_weights, checker_weights;
  std::optional<Clip> clip, clip_2;
  std::optional<T5> t5;
  std::optional<Unet> unet;
  std::optional<Mmdit> mmdit;
  std::optional<Flux> flux;
  Vae vae;

 private:
  Tape& tape_;
  const Settings& settings_;
  Hardware hardware_;
  std::vector<Weights*> order_;  // model_cpu_offload_seq
};

}  // namespace headroom::estimate::diffusion
