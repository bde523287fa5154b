// SPDX-License-Identifier: Apache-2.0
// LLaVA: a vision tower, one of whose last layers is taken without its class token, two matrices,
// and a language model. Sources: transformers, models/{llava,llava_next}.
#include <fmt/format.h>

#include "base/document.h"
#include "estimate/models/families.h"
#include "estimate/models/vision.h"

namespace headroom::estimate {
namespace {

// vision_feature_layer as a number of layers: -1 is all of them, -2 leaves the last one out.
void read_chosen_layer(ConfigReader& config, Stack& tower) {
  const Json* given = config.find({"vision_feature_layer"});
  std::int64_t layer = -2;
  if (given != nullptr && !given->is_number_integer()) {
    config.fail("vision_feature_layer", "one whole number", Errc::unsupported);
    return;
  }
  if (given != nullptr) layer = given->get<std::int64_t>();
  const auto layers = static_cast<std::int64_t>(tower.layers);
  if (layer < 0) layer += layers + 1;
  if (layer < 1 || layer > layers) {
    config.fail_with("vision_feature_layer",
                     fmt::format("expected one of {} layers, found {}", layers, layer));
    return;
  }
  tower.chosen_layers = static_cast<std::uint64_t>(layer);
}

// Whether the class token's row is left out.
bool drops_class(ConfigReader& config, const Stack& tower) {
  const std::string kept = config.text_or({"vision_feature_select_strategy"}, "default");
  if (kept != "default" && kept != "full")
    config.fail("vision_feature_select_strategy", "\"default\" or \"full\"");
  return tower.input.class_token && kept == "default";
}

// image_grid_pinpoints: pairs of height and width, in multiples of the tower's size.
void read_resolutions(ConfigReader& config, Input& input) {
  const Json* given = config.find({"image_grid_pinpoints"});
  const std::uint64_t side = input.image_size;
  if (given == nullptr) {
    input.resolutions = {{side, 2 * side},
                         {2 * side, side},
                         {2 * side, 2 * side},
                         {3 * side, side},
                         {side, 3 * side}};
    return;
  }
  const auto multiple = [side](const Json& value) -> std::uint64_t {
    const auto whole = whole_number(value);
    return whole && *whole <= pixel_counts.max && *whole % side == 0 ? *whole : 0;
  };
  for (const Json& pair : given->is_array() ? *given : Json::array()) {
    const bool two = pair.is_array() && pair.size() == 2;
    const Input::Resolution size{two ? multiple(pair[0]) : 0, two ? multiple(pair[1]) : 0};
    if (size.height > 0 && size.width > 0) input.resolutions.push_back(size);
  }
  if (input.resolutions.empty() || input.resolutions.size() != given->size())
    config.fail("image_grid_pinpoints",
                fmt::format("pairs of height and width in multiples of {}", side));
}

Stack& add_eye(ConfigReader& config, Architecture& out) {
  ConfigReader vision = config.inner("vision_config");
  const std::string type = vision.text_or({"model_type"}, "clip_vision_model");
  const bool siglip = type == "siglip_vision_model";
  if (!siglip && type != "clip_vision_model")
    vision.fail("model_type", "clip_vision_model or siglip_vision_model", Errc::unsupported);
  Stack& tower = siglip ? add_siglip_tower(vision, out) : add_clip_tower(vision, out);
  tower.final_norm_of_class = tower.input.class_token;
  tower.input.own_type = true;
  tower.names.layers = "model.vision_tower.encoder.layers";
  read_chosen_layer(config, tower);
  return tower;
}

}  // namespace

void parse_llava(ConfigReader& config, Architecture& out) {
  const Stack& tower = add_eye(config, out);
  Projector projector;
  projector.in = tower.hidden;
  projector.tokens = tower.input.patches() + (tower.input.class_token ? 1 : 0);
  if (drops_class(config, tower)) --projector.tokens;
  projector.activation = config.activation_or({"projector_hidden_act"}, Activation::gelu);
  projector.bias = config.flag_or({"multimodal_projector_bias"}, true);
  projector.returned = true;
  ConfigReader text = config.inner("text_config");
  parse_text_model(text, out);
  if (config.failed()) return;
  out.head.tied = config.flag_or({"tie_word_embeddings"}, out.head.tied);
  projector.inner = projector.out = out.main().hidden;
  out.projector = projector;
  ModuleNames& names = out.stacks.back().names;
  names.layers = "model.language_model.layers";
  names.embedding = "model.language_model.embed_tokens";
  names.final_norm = "model.language_model.norm";
}

// The same, with images in tiles of the tower's size.
void parse_llava_next(ConfigReader& config, Architecture& out) {
  parse_llava(config, out);
  if (config.failed()) return;
  Input& input = out.stacks.front().input;
  read_resolutions(config, input);
  out.projector->newline = true;
  const std::uint64_t grid = input.patches();
  if (out.projector->tokens != grid)
    config.fail("vision_feature_select_strategy", "\"default\", which leaves a square of patches",
                Errc::unsupported);
}

}  // namespace headroom::estimate
