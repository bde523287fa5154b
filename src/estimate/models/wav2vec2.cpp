// SPDX-License-Identifier: Apache-2.0
// wav2vec 2.0 and HuBERT: convolutions over samples of sound, then an encoder. Without a task in
// the config's "architectures" it is the encoder alone. Sources: transformers,
// models/{wav2vec2,hubert}.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/document.h"
#include "estimate/models/config_parts.h"
#include "estimate/models/families.h"
#include "estimate/models/waveform.h"

namespace headroom::estimate {
namespace {

void read_convolutions(ConfigReader& config, Waveform& wave) {
  const auto channels = config.sizes_or("conv_dim", {512, 512, 512, 512, 512, 512, 512});
  const auto strides = config.sizes_or("conv_stride", {5, 2, 2, 2, 2, 2, 2});
  const auto kernels = config.sizes_or("conv_kernel", {10, 3, 3, 3, 3, 2, 2});
  const bool even = channels.size() == strides.size() && strides.size() == kernels.size();
  const auto in_range = [](const std::vector<std::uint64_t>& all, std::uint64_t max) {
    return !all.empty() &&
           std::all_of(all.begin(), all.end(), [&](std::uint64_t x) { return x >= 1 && x <= max; });
  };
  constexpr std::uint64_t step_max = 1024;
  if (!even || !in_range(channels, widths.max) || !in_range(strides, step_max) ||
      !in_range(kernels, step_max) || channels.size() > step_max) {
    config.fail("conv_dim", "as many numbers above 0 as conv_stride and conv_kernel have");
    wave.convolutions = {{1, 1, 1}};
    return;
  }
  for (std::size_t i = 0; i < channels.size(); ++i)
    wave.convolutions.push_back({channels[i], kernels[i], strides[i]});
}

void read_waveform(ConfigReader& config, Stack& stack) {
  auto wave = std::make_shared<Waveform>();
  read_convolutions(config, *wave);
  wave->bias = config.flag_or({"conv_bias"}, false);
  const std::string norm = config.text_or({"feat_extract_norm"}, "group");
  if (norm != "group" && norm != "layer") config.fail("feat_extract_norm", "group or layer");
  wave->norm_each = norm == "layer";
  wave->norm_before = config.flag_or({"feat_proj_layer_norm"}, true);
  wave->dropout = config.probability_or({"feat_proj_dropout"}, 0);
  wave->position_kernel = config.size_or({"num_conv_pos_embeddings"}, {1, 1024}, 128);
  wave->position_groups = config.size_or({"num_conv_pos_embedding_groups"}, widths, 16);
  if (stack.hidden % wave->position_groups != 0) {
    config.fail_with("num_conv_pos_embedding_groups",
                     fmt::format("expected a divisor of hidden_size = {}, found {}", stack.hidden,
                                 wave->position_groups));
    wave->position_groups = 1;
  }
  wave->mask_embedding = config.probability_or({"mask_time_prob"}, 0.05) > 0 ||
                         config.probability_or({"mask_feature_prob"}, 0) > 0;
  stack.input.kind = Input::Kind::waveform;
  stack.input.waveform = std::move(wave);
}

void set_names(ModuleNames& names) {
  names.layers = "encoder.layers";
  names.attention = "attention";
  names.o = "out_proj";
  names.mlp = "feed_forward";
  names.up = "intermediate_dense";
  names.down = "output_dense";
  names.first_norm = "layer_norm";
  names.second_norm = "final_layer_norm";
  names.final_norm = "encoder.layer_norm";
}

// Of a class that is planned: the encoder, CTC, or one class a recording.
void check_task(ConfigReader& config) {
  const auto names = config.texts("architectures");
  if (names.empty()) return;
  for (const std::string_view end : {"Model", "ForCTC", "ForSequenceClassification"})
    if (names.front().ends_with(end)) return;
  config.fail("architectures", "the model alone, ...ForCTC or ...ForSequenceClassification",
              Errc::unsupported);
}

void refuse(ConfigReader& config, const char* key, const char* why) {
  if (config.flag_or({key}, false))
    config.fail(key, fmt::format("false ({} not known)", why), Errc::unsupported);
}

}  // namespace

void parse_wav2vec2(ConfigReader& config, Architecture& out) {
  check_task(config);
  refuse(config, "add_adapter", "the convolutions behind the encoder are");
  refuse(config, "use_weighted_layer_sum", "a sum over all layers is");
  if (config.has("adapter_attn_dim"))
    config.fail("adapter_attn_dim", "nothing (adapters of languages are not known)",
                Errc::unsupported);
  Stack& stack = out.stacks.emplace_back();
  stack.role = Stack::Role::encoder;
  stack.causal = false;
  stack.hidden = stack.input.width = config.size_or({"hidden_size"}, widths, 768);
  stack.layers = config.size_or({"num_hidden_layers"}, layer_counts, 12);
  stack.attention =
      read_heads(config, stack.hidden, {.kv_heads = {}, .head_dim = {}}, {.heads = 12});
  set_bias(stack.attention, true, true);
  stack.attention.narrow_softmax = true;
  stack.mlp.intermediate = config.size_or({"intermediate_size"}, widths, 3072);
  stack.mlp.gated = false;
  stack.mlp.bias = true;
  stack.mlp.activation = config.activation_or({"hidden_act"}, Activation::gelu);
  stack.norm = layer_norm(config, {"layer_norm_eps"});
  stack.positions = Positions::none;
  stack.input.named = Input::Named::nothing;
  const bool stable = config.flag_or({"do_stable_layer_norm"}, false);
  stack.placement = stable ? NormPlacement::before : NormPlacement::after;
  stack.final_norm = stable;
  stack.input.norm = !stable;
  stack.dropout.embedding = stack.dropout.residual = config.probability_or({"hidden_dropout"}, 0.1);
  stack.dropout.attention = config.probability_or({"attention_dropout"}, 0.1);
  stack.dropout.activation = config.probability_or({"activation_dropout"}, 0.1);
  const auto names = config.texts("architectures");
  if (!names.empty() && names.front().ends_with("ForCTC"))
    stack.dropout.output = config.probability_or({"final_dropout"}, 0.1);
  read_waveform(config, stack);
  set_names(stack.names);
  out.head.kind = Head::Kind::none;
  out.head.inner = config.size_or({"classifier_proj_size"}, widths, 256);
  out.head.pooling = Head::Pooling::mean;
  config.note("sequence counts samples of sound: 16,000 are a second for most such models");
  if (config.probability_or({"layerdrop"}, 0.1) > 0)
    config.note("layerdrop: planned is a step in which no layer is left out, which needs most");
}

void parse_hubert(ConfigReader& config, Architecture& out) {
  parse_wav2vec2(config, out);
  refuse(config, "conv_pos_batch_norm", "a batch norm in front of the positions is");
}

}  // namespace headroom::estimate
