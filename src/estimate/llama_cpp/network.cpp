// SPDX-License-Identifier: Apache-2.0
#include "estimate/llama_cpp/network.h"

#include "estimate/llama_cpp/network_parts.h"

namespace headroom::estimate::llama {
namespace {

class Network {
 public:
  explicit Network(Parts& parts) : p_(parts), input_(embed()), attention_(parts) {
    rows_ = p_.graph.add_input(i32, {p_.context.outputs, 1, 1, 1});
  }

  void build() {
    const std::size_t layers = p_.model.layers.size();
    TensorId state = input_;
    for (std::size_t i = 0; i < layers; ++i)
      state = layer(i, state, i + 1 == layers && !p_.model.family.whole_last_layer);
    if (p_.model.family.whole_last_layer) state = p_.get_rows(state, rows_);
    state = p_.norm(state, p_.weight("output_norm.weight"), p_.weight("output_norm.bias"),
                    std::nullopt);
    p_.graph.at(state).is_output = true;
    TensorId logits = p_.add_bias(p_.mul_mat(p_.output_weight(), state), p_.weight("output.bias"));
    if (p_.model.caps_logits) {
      for (const Op op : {Op::scale, Op::unary, Op::scale}) logits = p_.same(op, logits, {logits});
    }
    p_.graph.at(logits).is_output = true;
    p_.graph.expand(logits);
  }

 private:
  TensorId embed() {
    const std::uint64_t tokens = p_.context.tokens;
    const TensorId ids = p_.graph.add_input(i32, {tokens, 1, 1, 1});
    const auto table = p_.weight("token_embd.weight");
    TensorId state =
        table ? p_.get_rows(*table, ids) : p_.graph.add_input(f32, {p_.model.hidden, tokens, 1, 1});
    p_.graph.expand(state);
    if (p_.context.build.embedding_input)
      p_.graph.expand(p_.graph.add_input(f32, {p_.model.hidden, tokens, 1, 1}));
    if (p_.model.family.scaled_embedding) state = p_.same(Op::scale, state, {state});
    return state;
  }

  std::optional<TensorId> weight(std::size_t layer, const char* name) {
    return p_.weight(layer, name);
  }

  TensorId layer(std::size_t i, TensorId state, bool is_last) {
    const Family& family = p_.model.family;
    const TensorId normed =
        p_.norm(state, weight(i, "attn_norm.weight"), weight(i, "attn_norm.bias"), i);
    // A layer without attention is recurrent; its own graph is not built.
    const Layer& shape = p_.model.layers[i];
    const bool attends =
        shape.heads > 0 && shape.kv_heads > 0 && shape.key_size > 0 && shape.value_size > 0;
    TensorId mixed =
        attends ? attention_.attend(i, normed) : p_.same(Op::convert, normed, {normed});
    if (is_last) {
      mixed = p_.get_rows(mixed, rows_);
      state = p_.get_rows(state, rows_);
    }
    const auto post = weight(i, "post_attention_norm.weight");
    if (post && !family.post_norm_is_ffn_norm) mixed = p_.norm(mixed, post, std::nullopt, i);
    const TensorId residual = p_.same(Op::add, mixed, {mixed, state});
    auto scale = weight(i, "ffn_norm.weight");
    if (!scale && family.post_norm_is_ffn_norm) scale = post;
    const TensorId into =
        scale ? p_.norm(residual, scale, weight(i, "ffn_norm.bias"), i) : residual;
    TensorId out = feed_forward(p_, i, into);
    if (const auto after = weight(i, "post_ffw_norm.weight"))
      out = p_.norm(out, after, std::nullopt, std::nullopt);
    return p_.same(Op::add, out, {out, residual});
  }

  Parts& p_;
  TensorId input_;
  AttentionInputs attention_;
  TensorId rows_ = 0;
};

}  // namespace

Graph build_graph(const Model& model, const Options& options, const Context& context,
                  const Placement& placement) {
  Parts parts(model, options, context, placement);
  Network(parts).build();
  return std::move(parts.graph);
}

}  // namespace headroom::estimate::llama
