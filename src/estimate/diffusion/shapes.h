// SPDX-License-Identifier: Apache-2.0
// The models of a pipeline by what their config.json says, as far as it shapes memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/document_fwd.h"
#include "base/result.h"
#include "estimate/models/architecture.h"

namespace headroom::estimate::diffusion {

// UNet2DConditionModel.
struct UnetShape {
  struct Level {
    std::uint64_t width = 0;
    std::uint64_t heads = 0;     // Of its attention.
    std::uint64_t depth = 0;     // Transformer blocks behind each resnet on the way down; 0: none.
    std::uint64_t up_depth = 0;  // On the way up at the same resolution.
  };
  std::vector<Level> levels;  // From the full resolution down.
  std::uint64_t in = 4, out = 4;
  std::uint64_t layers = 2;  // Resnets of a level; one more on the way up.
  std::uint64_t context = 0;
  std::uint64_t groups = 32;
  std::uint64_t mid_depth = 1;  // Transformer blocks of the middle.
  bool linear_projection = false;
  bool upcast_attention = false;
  std::uint64_t sample_size = 0;  // Of latents.
  // addition_embed_type = "text_time" (SDXL): the width of one time's embedding, and of all.
  std::uint64_t added_time = 0, added_width = 0;
};

// AutoencoderKL.
struct VaeShape {
  std::vector<std::uint64_t> widths;  // From the image down.
  std::uint64_t channels = 3, latent = 4;
  std::uint64_t layers = 2;  // Resnets of a level of the encoder; one more in the decoder.
  std::uint64_t groups = 32;
  bool quant = true, post_quant = true;
  bool mid_attends = true;
  bool force_upcast = false;
  std::uint64_t sample_size = 0;  // Of images; a tile's side.

  std::uint64_t factor() const { return std::uint64_t{1} << (widths.size() - 1); }
};

// CLIPTextModel and CLIPTextModelWithProjection.
struct ClipShape {
  std::uint64_t hidden = 0, inner = 0, layers = 0, heads = 0, vocabulary = 0;
  std::uint64_t positions = 77;
  std::uint64_t projection = 0;  // 0: without.
  bool quick_gelu = true;
};

// T5EncoderModel.
struct T5Shape {
  std::uint64_t hidden = 0, head = 0, heads = 0, inner = 0, layers = 0, vocabulary = 0;
  std::uint64_t buckets = 32;
  bool gated = true;
};

// StableDiffusionSafetyChecker: a CLIP vision tower.
struct CheckerShape {
  std::uint64_t hidden = 0, inner = 0, layers = 0, projection = 0;
  std::uint64_t patches = 0, patch = 0;
};

// SD3Transformer2DModel.
struct MmditShape {
  std::uint64_t layers = 0, heads = 0, head = 0;
  std::uint64_t in = 16, out = 16, patch = 2;
  std::uint64_t context = 0, caption = 0, pooled = 0;
  std::uint64_t positions = 0;      // A side's, of the table.
  std::vector<std::uint64_t> dual;  // Layers with a second attention.
  bool qk_norm = false;
  std::uint64_t sample_size = 128;

  std::uint64_t width() const { return heads * head; }
};

// FluxTransformer2DModel.
struct FluxShape {
  std::uint64_t layers = 0, single_layers = 0, heads = 0, head = 0;
  std::uint64_t in = 64, context = 0, pooled = 0;
  bool guidance = false;
  std::vector<std::uint64_t> axes;  // Widths of a position's axes.

  std::uint64_t width() const { return heads * head; }
};

enum class PipelineKind : std::uint8_t { sd, sdxl, sd3, flux };
std::string to_string(PipelineKind kind);  // diffusers' class

struct PipelineShape {
  std::string name;
  PipelineKind kind = PipelineKind::sd;
  std::optional<UnetShape> unet;
  std::optional<MmditShape> mmdit;
  std::optional<FluxShape> flux;
  VaeShape vae;
  std::optional<ClipShape> clip;    // text_encoder
  std::optional<ClipShape> clip_2;  // text_encoder_2 of SDXL and SD3
  std::optional<T5Shape> t5;
  std::optional<CheckerShape> checker;
  std::vector<std::string> notes;

  std::uint64_t default_side() const;  // Pixels that the pipeline makes unless it is told.
};

// {"_class_name": "StableDiffusionXLPipeline", "unet": {config.json}, "vae": {…}, …}. Fails with
// the component and the key that is wrong or not planned.
Result<PipelineShape> parse_pipeline(const Json& components);

}  // namespace headroom::estimate::diffusion
