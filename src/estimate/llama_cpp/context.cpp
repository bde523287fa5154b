// SPDX-License-Identifier: Apache-2.0
#include "estimate/llama_cpp/context.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/text.h"
#include "estimate/files/gguf_types.h"

namespace headroom::estimate::llama {
namespace {

constexpr std::uint64_t automatic_slots = 4;

Result<std::uint32_t> cache_type(const std::string& name, const char* option) {
  // The list is common/arg.cpp's kv_cache_types.
  for (const std::string_view known :
       {"f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1"}) {
    if (name != known) continue;
    for (std::uint32_t id = 0; id < 64; ++id) {
      const GgmlType* type = find_ggml_type(id);
      if (type != nullptr && to_lower(type->name) == known) return id;
    }
  }
  return Error{Errc::invalid,
               fmt::format("{}: expected f32, f16, bf16, q8_0, q5_1, q5_0, q4_1, q4_0 or iq4_nl, "
                           "found \"{}\"",
                           option, name),
               "write one of them"};
}

void size_caches(const Model& model, const Options& options, Context& context) {
  const std::uint64_t padding = context.build.pads_context ? 256 : context.flash ? 256 : 32;
  if (context.build.pads_context) context.context = round_up(context.context, 256);
  const bool automatic = !options.parallel && context.sequences > 1;
  const bool unified = !context.build.pads_context || options.kv_unified.value_or(automatic);
  context.streams = unified ? 1 : context.sequences;
  context.cells =
      unified ? context.context : round_up(context.context / context.sequences, padding);
  context.context = context.cells * context.streams;
  context.cells = round_up(context.cells, padding);
  if (model.window == 0) return;
  const std::uint64_t ubatch = std::min(options.ubatch, std::min(options.batch, context.context));
  const std::uint64_t held = model.window * (unified ? context.sequences : 1) + ubatch;
  context.window_cells = round_up(std::min(context.cells, held), padding);
  if (options.swa_full || !context.build.has_windowed_cache) context.window_cells = context.cells;
}

}  // namespace

Result<Context> make_context(const Model& model, const Options& options) {
  Context context;
  context.build = build_of(options.build);
  HEADROOM_TRY(context.type_k, cache_type(options.cache_type_k, "--cache-type-k"));
  HEADROOM_TRY(context.type_v, cache_type(options.cache_type_v, "--cache-type-v"));
  context.flash = options.flash_attention == Switch::on ||
                  (options.flash_attention == Switch::automatic && context.build.automatic_flash);
  if (!context.flash && is_quantised(context.type_v))
    return Error{Errc::unsupported,
                 fmt::format("--cache-type-v: expected f16, bf16 or f32 without flash attention, "
                             "found \"{}\"",
                             options.cache_type_v),
                 "add --flash-attn on"};
  const bool server = options.program == Program::server;
  context.sequences =
      options.parallel.value_or(server && context.build.automatic_parallel ? automatic_slots : 1);
  context.context = options.context.value_or(0);
  if (context.context == 0) context.context = model.trained_context;
  size_caches(model, options, context);
  const std::uint64_t batch = std::min(options.batch, context.context);
  context.tokens = std::min(batch, options.ubatch == 0 ? batch : options.ubatch);
  context.tokens = round_up(context.tokens, context.sequences);
  context.outputs = context.tokens;
  if (server && context.build.few_outputs && !options.embeddings)
    context.outputs = std::min(context.tokens, context.sequences);
  return context;
}

CacheBytes cache_bytes(const Model& model, const Options& options, const Context& context,
                       const Placement& placement) {
  CacheBytes bytes;
  bytes.keys_values.resize(placement.gpus + 1);
  bytes.states.resize(placement.gpus + 1);
  std::uint64_t widest = 0;
  for (const Layer& layer : model.layers)
    widest = std::max(widest, layer.kv_heads * layer.value_size);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const Layer& layer = model.layers[i];
    const std::uint32_t home = options.kv_offload ? placement.layer_backend[i] : placement.cpu();
    if (layer.recurrent)
      bytes.states[home] += model.state_rows * row_bytes(f32, 1) * context.sequences;
    if (!layer.caches) continue;
    const std::uint64_t cells = layer.windowed ? context.window_cells : context.cells;
    // A transposed V has rows of one length in all layers.
    const std::uint64_t width = context.flash ? layer.kv_heads * layer.value_size : widest;
    const bool keys_alone =
        context.build.values_in_keys && model.find(i, "attn_v_b.weight") != nullptr;
    bytes.keys_values[home] += cells * context.streams *
                               (row_bytes(context.type_k, layer.kv_heads * layer.key_size) +
                                (keys_alone ? 0 : row_bytes(context.type_v, width)));
  }
  return bytes;
}

}  // namespace headroom::estimate::llama
