// SPDX-License-Identifier: Apache-2.0
#include "estimate/diffusion/shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/document.h"
#include "estimate/models/config_reader.h"

namespace headroom::estimate::diffusion {
namespace {

constexpr Range block_sizes{1, 64};

// A number for all levels, or one for each.
std::vector<std::uint64_t> each_level(ConfigReader& reader, const char* key,
                                      std::uint64_t otherwise, std::size_t levels) {
  const Json* found = reader.find({key});
  if (found == nullptr || !found->is_array())
    return std::vector<std::uint64_t>(levels, reader.size_or({key}, widths, otherwise));
  std::vector<std::uint64_t> sizes = reader.sizes_or(key, {});
  if (sizes.size() != levels) {
    reader.fail(key, fmt::format("one number for each of {} levels", levels));
    sizes.assign(levels, 1);
  }
  return sizes;
}

// Which of the block types attend; a type that is not planned is a problem.
std::vector<bool> attending(ConfigReader& reader, const char* key, std::string_view plain,
                            std::string_view attends, std::size_t levels) {
  std::vector<bool> result;
  for (const std::string& type : reader.texts(key)) {
    if (type != plain && type != attends)
      reader.fail(key, fmt::format("{} or {}", plain, attends), Errc::unsupported);
    result.push_back(type == attends);
  }
  if (result.size() != levels) {
    reader.fail(key, fmt::format("a type for each of {} levels", levels));
    result.assign(levels, false);
  }
  return result;
}

UnetShape read_unet(ConfigReader& reader) {
  UnetShape shape;
  const std::vector<std::uint64_t> of_levels =
      reader.sizes_or("block_out_channels", {320, 640, 1280, 1280});
  const std::size_t levels = std::max<std::size_t>(1, of_levels.size());
  const char* heads_key =
      reader.has("num_attention_heads") ? "num_attention_heads" : "attention_head_dim";
  const auto heads = each_level(reader, heads_key, 8, levels);
  const auto depths = each_level(reader, "transformer_layers_per_block", 1, levels);
  const auto down =
      attending(reader, "down_block_types", "DownBlock2D", "CrossAttnDownBlock2D", levels);
  const auto up = attending(reader, "up_block_types", "UpBlock2D", "CrossAttnUpBlock2D", levels);
  for (std::size_t i = 0; i < of_levels.size(); ++i)
    shape.levels.push_back(
        {of_levels[i], heads[i], down[i] ? depths[i] : 0, up[levels - 1 - i] ? depths[i] : 0});
  if (shape.levels.empty()) shape.levels.push_back({1, 1, 0, 0});
  shape.mid_depth = depths.back();
  shape.in = reader.size_or({"in_channels"}, widths, 4);
  shape.out = reader.size_or({"out_channels"}, widths, 4);
  shape.layers = reader.size_or({"layers_per_block"}, layer_counts, 2);
  shape.context = reader.size({"cross_attention_dim"}, widths);
  shape.groups = reader.size_or({"norm_num_groups"}, widths, 32);
  shape.linear_projection = reader.flag_or({"use_linear_projection"}, false);
  shape.upcast_attention = reader.flag_or({"upcast_attention"}, false);
  shape.sample_size = reader.size_or({"sample_size"}, pixel_counts, 64);
  const std::string added = reader.text_or({"addition_embed_type"}, "");
  if (added == "text_time") {
    shape.added_time = reader.size({"addition_time_embed_dim"}, widths);
    shape.added_width = reader.size({"projection_class_embeddings_input_dim"}, widths);
  } else if (!added.empty()) {
    reader.fail("addition_embed_type", "text_time or none", Errc::unsupported);
  }
  return shape;
}

VaeShape read_vae(ConfigReader& reader) {
  VaeShape shape;
  shape.widths = reader.sizes_or("block_out_channels", {128, 256, 512, 512});
  if (shape.widths.empty() || shape.widths.size() > 8) {
    reader.fail("block_out_channels", "from 1 to 8 widths");
    shape.widths = {1};
  }
  shape.channels = reader.size_or({"in_channels"}, widths, 3);
  shape.latent = reader.size_or({"latent_channels"}, widths, 4);
  shape.layers = reader.size_or({"layers_per_block"}, layer_counts, 1);
  shape.groups = reader.size_or({"norm_num_groups"}, widths, 32);
  shape.quant = reader.flag_or({"use_quant_conv"}, true);
  shape.post_quant = reader.flag_or({"use_post_quant_conv"}, true);
  shape.mid_attends = reader.flag_or({"mid_block_add_attention"}, true);
  shape.force_upcast = reader.flag_or({"force_upcast"}, true);
  shape.sample_size = reader.size_or({"sample_size"}, pixel_counts, 32);
  return shape;
}

ClipShape read_clip(ConfigReader& reader, bool projected) {
  ClipShape shape;
  shape.hidden = reader.size_or({"hidden_size"}, widths, 512);
  shape.inner = reader.size_or({"intermediate_size"}, widths, 2048);
  shape.layers = reader.size_or({"num_hidden_layers"}, layer_counts, 12);
  shape.heads = reader.size_or({"num_attention_heads"}, head_counts, 8);
  shape.vocabulary = reader.size_or({"vocab_size"}, vocabularies, 49408);
  shape.positions = reader.size_or({"max_position_embeddings"}, position_counts, 77);
  if (projected) shape.projection = reader.size_or({"projection_dim"}, widths, 512);
  shape.quick_gelu = reader.text_or({"hidden_act"}, "quick_gelu") == "quick_gelu";
  return shape;
}

T5Shape read_t5(ConfigReader& reader) {
  T5Shape shape;
  shape.hidden = reader.size({"d_model"}, widths);
  shape.head = reader.size_or({"d_kv"}, head_counts, 64);
  shape.heads = reader.size({"num_heads"}, head_counts);
  shape.inner = reader.size({"d_ff"}, widths);
  shape.layers = reader.size({"num_layers"}, layer_counts);
  shape.vocabulary = reader.size_or({"vocab_size"}, vocabularies, 32128);
  shape.buckets = reader.size_or({"relative_attention_num_buckets"}, widths, 32);
  shape.gated = reader.text_or({"feed_forward_proj"}, "relu").starts_with("gated");
  return shape;
}

CheckerShape read_checker(ConfigReader& reader) {
  CheckerShape shape;
  shape.projection = reader.size_or({"projection_dim"}, widths, 768);
  ConfigReader vision = reader.inner("vision_config");
  shape.hidden = vision.size_or({"hidden_size"}, widths, 1024);
  shape.inner = vision.size_or({"intermediate_size"}, widths, 4096);
  shape.layers = vision.size_or({"num_hidden_layers"}, layer_counts, 24);
  const std::uint64_t image = vision.size_or({"image_size"}, pixel_counts, 224);
  shape.patch = vision.size_or({"patch_size"}, pixel_counts, 14);
  shape.patches = (image / shape.patch) * (image / shape.patch);
  return shape;
}

MmditShape read_mmdit(ConfigReader& reader) {
  MmditShape shape;
  shape.layers = reader.size_or({"num_layers"}, layer_counts, 18);
  shape.heads = reader.size_or({"num_attention_heads"}, head_counts, 18);
  shape.head = reader.size_or({"attention_head_dim"}, head_counts, 64);
  shape.in = reader.size_or({"in_channels"}, widths, 16);
  shape.out = reader.size_or({"out_channels"}, widths, 16);
  shape.patch = reader.size_or({"patch_size"}, block_sizes, 2);
  shape.context = reader.size_or({"joint_attention_dim"}, widths, 4096);
  shape.caption = reader.size_or({"caption_projection_dim"}, widths, 1152);
  shape.pooled = reader.size_or({"pooled_projection_dim"}, widths, 2048);
  shape.positions = reader.size_or({"pos_embed_max_size"}, widths, 96);
  shape.dual = reader.sizes_or("dual_attention_layers", {});
  shape.qk_norm = reader.has("qk_norm");
  shape.sample_size = reader.size_or({"sample_size"}, pixel_counts, 128);
  return shape;
}

FluxShape read_flux(ConfigReader& reader) {
  FluxShape shape;
  shape.layers = reader.size_or({"num_layers"}, layer_counts, 19);
  shape.single_layers = reader.size_or({"num_single_layers"}, layer_counts, 38);
  shape.heads = reader.size_or({"num_attention_heads"}, head_counts, 24);
  shape.head = reader.size_or({"attention_head_dim"}, head_counts, 128);
  shape.in = reader.size_or({"in_channels"}, widths, 64);
  shape.context = reader.size_or({"joint_attention_dim"}, widths, 4096);
  shape.pooled = reader.size_or({"pooled_projection_dim"}, widths, 768);
  shape.guidance = reader.flag_or({"guidance_embeds"}, false);
  shape.axes = reader.sizes_or("axes_dims_rope", {16, 56, 56});
  return shape;
}

// The class of a component, by the name that diffusers and transformers write into its config.
std::string class_of(const Json& config) {
  const auto own = config.find("_class_name");
  if (own != config.end() && own->is_string()) return own->get<std::string>();
  const auto listed = config.find("architectures");
  if (listed != config.end() && listed->is_array() && !listed->empty() &&
      listed->front().is_string())
    return listed->front().get<std::string>();
  return "";
}

class Components {
 public:
  explicit Components(const Json& all) : all_(all) {}

  // Reads the component with `read`, where there is one of one of these classes.
  template <class Read>
  auto take(const char* name, std::initializer_list<std::string_view> classes, Read read)
      -> std::optional<decltype(read(std::declval<ConfigReader&>(), std::string()))> {
    const auto found = all_.find(name);
    if (problem_ || found == all_.end() || !found->is_object()) return std::nullopt;
    const std::string kind = class_of(*found);
    if (std::find(classes.begin(), classes.end(), kind) == classes.end()) {
      problem_ = Error{Errc::unsupported,
                       fmt::format("expected {} to be {}, found {}", name, *classes.begin(),
                                   kind.empty() ? "no class" : kind),
                       "docs/plan.md lists the pipelines that can be planned"};
      return std::nullopt;
    }
    ConfigFindings findings;
    ConfigReader reader(*found, findings);
    auto shape = read(reader, kind);
    if (findings.problem) problem_ = std::move(*findings.problem).in(name);
    return shape;
  }

  const std::optional<Error>& problem() const { return problem_; }
  void require(bool there, const char* name, PipelineKind kind) {
    if (there || problem_) return;
    problem_ =
        Error{Errc::invalid, fmt::format("expected {} in a {}, found none", name, to_string(kind)),
              "give the whole folder that from_pretrained() reads"};
  }

 private:
  const Json& all_;
  std::optional<Error> problem_;
};

std::optional<PipelineKind> kind_of(std::string_view name) {
  for (const PipelineKind kind :
       {PipelineKind::sd, PipelineKind::sdxl, PipelineKind::sd3, PipelineKind::flux})
    if (name == to_string(kind)) return kind;
  return std::nullopt;
}

}  // namespace

std::string to_string(PipelineKind kind) {
  switch (kind) {
    case PipelineKind::sd:
      return "StableDiffusionPipeline";
    case PipelineKind::sdxl:
      return "StableDiffusionXLPipeline";
    case PipelineKind::sd3:
      return "StableDiffusion3Pipeline";
    case PipelineKind::flux:
      break;
  }
  return "FluxPipeline";
}

std::uint64_t PipelineShape::default_side() const {
  if (unet) return unet->sample_size * vae.factor();
  return (mmdit ? mmdit->sample_size : 128) * vae.factor();
}

Result<PipelineShape> parse_pipeline(const Json& components) {
  const std::string name = class_of(components);
  const auto kind = kind_of(name);
  if (!kind)
    return Error{Errc::unsupported,
                 fmt::format("expected StableDiffusionPipeline, StableDiffusionXLPipeline, "
                             "StableDiffusion3Pipeline or FluxPipeline, found {}",
                             name.empty() ? "no pipeline's class" : name),
                 "docs/plan.md lists the pipelines that can be planned"};
  PipelineShape shape;
  shape.kind = *kind;
  Components all(components);
  const auto clip = [](ConfigReader& reader, const std::string& its) {
    return read_clip(reader, its == "CLIPTextModelWithProjection");
  };
  const auto t5 = [](ConfigReader& reader, const std::string&) { return read_t5(reader); };
  shape.clip = all.take("text_encoder", {"CLIPTextModel", "CLIPTextModelWithProjection"}, clip);
  if (*kind == PipelineKind::sdxl || *kind == PipelineKind::sd3)
    shape.clip_2 = all.take("text_encoder_2", {"CLIPTextModelWithProjection"}, clip);
  if (*kind == PipelineKind::sd3) shape.t5 = all.take("text_encoder_3", {"T5EncoderModel"}, t5);
  if (*kind == PipelineKind::flux) shape.t5 = all.take("text_encoder_2", {"T5EncoderModel"}, t5);
  if (*kind == PipelineKind::sd)
    shape.checker = all.take("safety_checker", {"StableDiffusionSafetyChecker"},
                             [](ConfigReader& r, const std::string&) { return read_checker(r); });
  if (*kind == PipelineKind::sd || *kind == PipelineKind::sdxl)
    shape.unet = all.take("unet", {"UNet2DConditionModel"},
                          [](ConfigReader& r, const std::string&) { return read_unet(r); });
  if (*kind == PipelineKind::sd3)
    shape.mmdit = all.take("transformer", {"SD3Transformer2DModel"},
                           [](ConfigReader& r, const std::string&) { return read_mmdit(r); });
  if (*kind == PipelineKind::flux)
    shape.flux = all.take("transformer", {"FluxTransformer2DModel"},
                          [](ConfigReader& r, const std::string&) { return read_flux(r); });
  const auto vae = all.take("vae", {"AutoencoderKL"},
                            [](ConfigReader& r, const std::string&) { return read_vae(r); });
  all.require(vae.has_value(), "vae", *kind);
  all.require(shape.clip.has_value(), "text_encoder", *kind);
  all.require(
      shape.unet || shape.mmdit || shape.flux,
      shape.kind == PipelineKind::sd || shape.kind == PipelineKind::sdxl ? "unet" : "transformer",
      *kind);
  if (*kind == PipelineKind::sdxl) all.require(shape.clip_2.has_value(), "text_encoder_2", *kind);
  if (all.problem()) return *all.problem();
  shape.vae = *vae;
  return shape;
}

}  // namespace headroom::estimate::diffusion
