// SPDX-License-Identifier: Apache-2.0
// How a pipeline is run, by the names of diffusers' own calls and arguments, and what the device
// has for it.
#pragma once

#include <cstdint>

#include "estimate/diffusion/layers.h"
#include "estimate/tape.h"

namespace headroom::estimate::diffusion {

// enable_model_cpu_offload, enable_sequential_cpu_offload
enum class Offload : std::uint8_t { none, model, sequential };

// How scaled_dot_product_attention or its replacement is asked for.
enum class AttentionChoice : std::uint8_t { sdpa, math, eager };

struct Settings {
  DType dtype = DType::fp16;            // torch_dtype
  std::uint64_t height = 0, width = 0;  // Pixels; 0: what the model was trained for.
  std::uint64_t prompts = 1;
  std::uint64_t images = 1;  // num_images_per_prompt
  std::uint64_t steps = 50;  // num_inference_steps; more than two change nothing.
  bool guidance = true;      // guidance_scale > 1: each step runs on twice the images.
  bool negative_prompt = false;
  bool safety_checker = true;  // False: safety_checker = None.
  bool vae_upcast = true;      // SDXL decodes in fp32 where its VAE says so.
  bool vae_slicing = false, vae_tiling = false;
  AttentionChoice attention = AttentionChoice::sdpa;
  Processor slicing = Processor::sdpa;  // sliced_half, sliced_one: enable_attention_slicing.
  Offload offload = Offload::none;
  std::uint64_t max_sequence_length = 0;  // Of T5; 0: the pipeline's own.

  std::uint64_t batch() const { return prompts * images; }
};

struct Hardware {
  Kernel kernel = Kernel::flash;
  ProductWorkspace of_products;        // That come and go with each product (NVIDIA).
  bool unfolds = false;                // Every convolution takes its largest workspace.
  std::uint64_t handle_workspace = 0;  // That stays from the first product on (AMD).
};

}  // namespace headroom::estimate::diffusion
