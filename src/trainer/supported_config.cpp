// SPDX-License-Identifier: Apache-2.0
#include "trainer/supported_config.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/document.h"

namespace headroom::trainer {
namespace {

const Json* find(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

Error unsupported(const char* key, const Json& found, const std::string& expected) {
  return {Errc::unsupported,
          fmt::format("config.json, {}: expected {}, found {}", key, expected,
                      found.dump().substr(0, 120)),
          "train this model with another engine: engine.kind = \"transformers\""};
}

// Either generation of the key. The types of scaling are read elsewhere (rotary_scaling.h).
Status check_rotary(const Json& config, const estimate::ModelConfig& model) {
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const Json* scaling = find(config, key);
    if (scaling == nullptr) continue;
    const Json* theta = find(*scaling, "rope_theta");
    if (theta != nullptr && *theta != model.rope_theta) {
      return unsupported(key, *scaling, fmt::format("the rope_theta in use, {}", model.rope_theta));
    }
    const Json* part = find(*scaling, "partial_rotary_factor");
    if (part != nullptr && *part != 1.0) return unsupported(key, *scaling, "heads turned whole");
  }
  const Json* partial = find(config, "partial_rotary_factor");
  if (partial != nullptr && *partial != 1.0) {
    return unsupported("partial_rotary_factor", *partial, "1");
  }
  return Done{};
}

// GPT-2's is on where its config does not say otherwise.
Status check_gpt2_dropout(const Json& config) {
  for (const char* key : {"attn_pdrop", "embd_pdrop", "resid_pdrop"}) {
    const Json* found = find(config, key);
    const Json value = found == nullptr ? Json(0.1) : *found;
    if (value == 0.0) continue;
    return Error{Errc::unsupported,
                 fmt::format("config.json, {}: expected 0, as headroom-train has LoRA's dropout "
                             "alone, found {}{}",
                             key, value.dump().substr(0, 120),
                             found == nullptr ? ", which GPT-2 has without the key" : ""),
                 "write \"attn_pdrop\": 0, \"embd_pdrop\": 0, \"resid_pdrop\": 0 in config.json to "
                 "train without dropout, or use another engine: engine.kind = \"transformers\""};
  }
  return Done{};
}

// Settings of GPT2Config that change what is computed.
Status check_gpt2(const Json& config) {
  HEADROOM_CHECK(check_gpt2_dropout(config));
  const Json* activation = find(config, "activation_function");
  if (activation != nullptr && *activation != "gelu_new" && *activation != "gelu_pytorch_tanh")
    return unsupported("activation_function", *activation, "\"gelu_new\"");
  for (const auto& [key, wanted] : {std::pair{"scale_attn_weights", true},
                                    {"scale_attn_by_inverse_layer_idx", false},
                                    {"reorder_and_upcast_attn", false}}) {
    const Json* found = find(config, key);
    if (found != nullptr && *found != wanted)
      return unsupported(key, *found, wanted ? "true" : "false");
  }
  return Done{};
}

// The trainer has LoRA's dropout alone.
Status check_dropout(const Json& config) {
  for (const char* key : {"attention_dropout", "resid_pdrop", "embd_pdrop"}) {
    const Json* found = find(config, key);
    if (found != nullptr && *found != 0.0) return unsupported(key, *found, "0");
  }
  return Done{};
}

// Gemma 2's class reads hidden_activation, and older transformers did for the first Gemma. The
// latter's hidden_act may be the "gelu" of its first files, which stands for the same.
Status check_gemma(const Json& config, const estimate::ModelConfig& model) {
  const Json* activation = find(config, "hidden_activation");
  if (activation != nullptr && *activation != "gelu_pytorch_tanh")
    return unsupported("hidden_activation", *activation, "\"gelu_pytorch_tanh\"");
  const Json* older = model.norms_around ? nullptr : find(config, "hidden_act");
  if (older != nullptr && *older != "gelu_pytorch_tanh" && *older != "gelu")
    return unsupported("hidden_act", *older, "\"gelu_pytorch_tanh\"");
  const Json* both_ways = find(config, "use_bidirectional_attention");
  if (both_ways != nullptr && *both_ways != false)
    return unsupported("use_bidirectional_attention", *both_ways, "false");
  return Done{};
}

}  // namespace

Status check_supported(const Json& config, const estimate::ModelConfig& model) {
  if (model.is_gpt2()) return check_gpt2(config);
  HEADROOM_CHECK(check_rotary(config, model));
  HEADROOM_CHECK(check_dropout(config));
  if (model.gemma) return check_gemma(config, model);
  const Json* activation = find(config, "hidden_act");
  if (activation != nullptr && *activation != "silu" && *activation != "swish") {
    return unsupported("hidden_act", *activation, "\"silu\"");
  }
  return Done{};
}

}  // namespace headroom::trainer
