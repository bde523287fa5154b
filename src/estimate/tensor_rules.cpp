// SPDX-License-Identifier: Apache-2.0
// Shapes as in transformers' modeling_llama and modeling_gpt2, PyTorch's sdp_utils.cpp (math),
// vLLM, llama.cpp's graphs, diffusers' autoencoder_kl and unet_2d_condition.
#include "estimate/tensor_rules.h"

namespace headroom::estimate {
namespace {

using enum Dimension;
using Rules = std::vector<TensorRule>;

constexpr unsigned never = Elements::no_such;
constexpr Elements floats{};                // fp32 or a half type.
constexpr Elements with_bytes{0, 0, 2};     // fp8 and int8 are rarer.
constexpr Elements masks{1, 1, 0, "bool"};  //
constexpr Elements caches{1, 0, 1};         // Mostly half.
constexpr Elements flat{0, 0, never};       //

Axis number(std::uint64_t count, std::string_view of_what) {
  return {batch, count, 1, of_what};
}
Axis of(Dimension dimension, std::uint64_t times = 1, std::uint64_t divided_by = 1) {
  return {dimension, times, divided_by, {}};
}

void add_attention(Rules& rules) {
  constexpr Remedy attention = Remedy::attention;
  rules.push_back({.tensor = "attention scores of one layer, or their softmax",
                   .shape = {of(batch), of(heads), of(sequence), of(sequence)},
                   .elements = floats,
                   .remedy = attention,
                   .in_compute_type = false});
  rules.push_back({.tensor = "attention scores of one pass against the whole cache",
                   .shape = {of(heads), of(tokens), of(cache_length)},
                   .elements = floats,
                   .remedy = attention,
                   .in_compute_type = false});
  rules.push_back({.tensor = "attention scores of one sequence, or a position bias",
                   .shape = {of(heads), of(sequence), of(sequence)},
                   .doubt = 1,
                   .elements = floats,
                   .remedy = attention,
                   .in_compute_type = false,
                   .covered_by = "attention scores of one layer, or their softmax"});
  rules.push_back({.tensor = "attention mask of every sequence",
                   .shape = {of(batch), number(1, "one for all heads"), of(sequence), of(sequence)},
                   .doubt = 1,
                   .elements = masks,
                   .remedy = Remedy::mask,
                   .in_compute_type = false});
  rules.push_back({.tensor = "causal mask",
                   .shape = {of(sequence), of(sequence)},
                   .doubt = 1,
                   .elements = masks,
                   .remedy = Remedy::mask,
                   .in_compute_type = false,
                   .covered_by = "attention mask of every sequence"});
}

void add_activations(Rules& rules) {
  rules.push_back({.tensor = "hidden states of one layer (or the queries, the attention's output)",
                   .shape = {of(batch), of(sequence), of(hidden)},
                   .elements = floats});
  rules.push_back(
      {.tensor = "queries or attention output of one layer",
       .shape = {of(batch), of(sequence), of(query_size)},
       .elements = floats,
       .covered_by = "hidden states of one layer (or the queries, the attention's output)"});
  rules.push_back({.tensor = "keys or values of one layer",
                   .shape = {of(batch), of(kv_heads), of(sequence), of(head_dim)},
                   .elements = floats,
                   .covered_by = "queries or attention output of one layer"});
  rules.push_back({.tensor = "queries, keys and values of one layer together",
                   .shape = {of(batch), of(sequence), of(qkv_size)},
                   .elements = floats});
  rules.push_back({.tensor = "feed-forward activation of one layer",
                   .shape = {of(batch), of(sequence), of(intermediate)},
                   .elements = floats});
  rules.push_back({.tensor = "gate and up projection of one layer together",
                   .shape = {of(batch), of(sequence), of(intermediate, 2)},
                   .doubt = 1,
                   .elements = floats});
  rules.push_back({.tensor = "hidden states of one pass",
                   .shape = {of(tokens), of(hidden)},
                   .elements = floats});
  rules.push_back({.tensor = "feed-forward activation of one pass",
                   .shape = {of(tokens), of(intermediate)},
                   .elements = floats});
  rules.push_back({.tensor = "gate and up projection of one pass together",
                   .shape = {of(tokens), of(intermediate, 2)},
                   .elements = floats});
}

void add_loss(Rules& rules) {
  rules.push_back({.tensor = "logits, or their log-softmax, wider copy or gradient",
                   .shape = {of(batch), of(sequence), of(vocabulary)},
                   .elements = floats,
                   .remedy = Remedy::loss,
                   .in_compute_type = false});
  rules.push_back({.tensor = "logits of one pass, or their log-softmax",
                   .shape = {of(tokens), of(vocabulary)},
                   .elements = floats,
                   .remedy = Remedy::loss,
                   .in_compute_type = false});
  rules.push_back({.tensor = "logits of the prompt, or their log-softmax",
                   .shape = {of(sequence), of(vocabulary)},
                   .doubt = 1,
                   .elements = floats,
                   .remedy = Remedy::loss,
                   .in_compute_type = false,
                   .covered_by = "logits, or their log-softmax, wider copy or gradient"});
  rules.push_back({.tensor = "logits of the last token of every sequence",
                   .shape = {of(batch), of(vocabulary)},
                   .doubt = 1,
                   .elements = floats,
                   .remedy = Remedy::loss,
                   .in_compute_type = false});
}

void add_weights(Rules& rules) {
  const auto weight = [&rules](std::string_view tensor, std::vector<Axis> shape, unsigned doubt) {
    rules.push_back({.tensor = tensor,
                     .shape = std::move(shape),
                     .doubt = doubt,
                     .elements = with_bytes,
                     .remedy = Remedy::weight,
                     .in_compute_type = false});
  };
  weight("embedding table or output head: weight, gradient or optimizer state",
         {of(vocabulary), of(hidden)}, 1);
  weight("feed-forward weight of one layer, its gradient or optimizer state",
         {of(intermediate), of(hidden)}, 1);
  weight("gate and up weight of one layer together", {of(intermediate, 2), of(hidden)}, 2);
  weight("attention weight of one layer, its gradient or optimizer state",
         {of(query_size), of(hidden)}, 1);
  weight("weight of queries, keys and values of one layer together", {of(qkv_size), of(hidden)}, 1);
  weight("feed-forward weights of all layers stacked", {of(layers), of(intermediate), of(hidden)},
         2);
  const auto buffer = [&rules](std::string_view tensor, Dimension size, unsigned doubt) {
    rules.push_back({.tensor = tensor,
                     .shape = {of(size)},
                     .doubt = doubt,
                     .elements = flat,
                     .remedy = Remedy::flat_buffer,
                     .in_compute_type = false});
  };
  buffer("a bucket of flattened gradients", bucket, 0);
  buffer("one layer's parameters or gradients in one flat buffer (FSDP)", layer_parameters, 2);
  buffer("all parameters, gradients or optimizer states in one flat buffer (FSDP, ZeRO)",
         parameters, 2);
}

void add_caches(Rules& rules) {
  const auto cache = [&rules](std::string_view tensor, std::vector<Axis> shape, unsigned doubt,
                              std::string_view covered_by = {}) {
    rules.push_back({.tensor = tensor,
                     .shape = std::move(shape),
                     .doubt = doubt,
                     .elements = caches,
                     .remedy = Remedy::cache,
                     .in_compute_type = false,
                     .covered_by = covered_by});
  };
  const Axis both = number(2, "keys and values");
  cache("key/value cache of all layers",
        {both, of(layers), of(batch), of(kv_heads), of(cache_length), of(head_dim)}, 1);
  cache("key/value cache of all layers for one sequence",
        {both, of(layers), of(kv_heads), of(cache_length), of(head_dim)}, 1,
        "key/value cache of all layers");
  cache("key/value cache of one layer",
        {both, of(batch), of(kv_heads), of(cache_length), of(head_dim)}, 1);
  cache("keys or values cached for all layers",
        {of(layers), of(kv_heads), of(cache_length), of(head_dim)}, 2);
}

// 8 × 8 pixels make one latent; the decoder works with 512, 256 and 128 channels on the way up.
void add_images(Rules& rules) {
  const auto image = [&rules](std::string_view tensor, std::vector<Axis> shape, unsigned doubt,
                              Remedy remedy) {
    rules.push_back(
        {.tensor = tensor, .shape = std::move(shape), .doubt = doubt, .remedy = remedy});
  };
  image("convolution's output", {of(batch), of(channels), of(height), of(width)}, 0,
        Remedy::convolution);
  image("a 3 × 3 convolution's unrolled input (im2col workspace)",
        {number(9, "places of the kernel"), of(channels), of(height), of(width)}, 1,
        Remedy::convolution);
  const Axis wide = number(128, "channels");
  const Axis wider = number(256, "channels");
  const Axis widest = number(512, "channels");
  const Axis kernel = number(9, "places of the kernel");
  image("VAE decoder's activation at full resolution", {of(batch), wide, of(height), of(width)}, 1,
        Remedy::decode);
  image("VAE decoder's activation after its last upsampling",
        {of(batch), wider, of(height), of(width)}, 1, Remedy::decode);
  image("VAE decoder's activation at half resolution",
        {of(batch), widest, of(height, 1, 2), of(width, 1, 2)}, 1, Remedy::decode);
  image("unrolled input (im2col workspace) of the VAE decoder's convolution at full resolution",
        {kernel, wide, of(height), of(width)}, 2, Remedy::decode);
  image("unrolled input (im2col workspace) of the VAE decoder's convolution after upsampling",
        {kernel, wider, of(height), of(width)}, 2, Remedy::decode);
  image("VAE's attention scores", {of(batch), of(pixels, 1, 64), of(pixels, 1, 64)}, 1,
        Remedy::decode);
  image("video VAE decoder's activation at full resolution",
        {of(batch), wide, of(frames), of(height), of(width)}, 1, Remedy::decode);
  image("attention scores over all latents (every head)",
        {of(batch), of(heads), of(pixels, 1, 64), of(pixels, 1, 64)}, 1, Remedy::image_attention);
  image("attention scores over all patches (every head)",
        {of(batch), of(heads), of(pixels, 1, 256), of(pixels, 1, 256)}, 1, Remedy::image_attention);
  image("attention scores over all latents, with and without prompt, as in Stable Diffusion 1",
        {of(batch, 2), number(8, "heads"), of(pixels, 1, 64), of(pixels, 1, 64)}, 2,
        Remedy::image_attention);
  image("attention scores over all latents, with and without prompt, as in Stable Diffusion 2",
        {of(batch, 2), number(5, "heads"), of(pixels, 1, 64), of(pixels, 1, 64)}, 2,
        Remedy::image_attention);
  image("attention scores at half the latents' resolution, with and without prompt, as in SDXL",
        {of(batch, 2), number(10, "heads"), of(pixels, 1, 256), of(pixels, 1, 256)}, 2,
        Remedy::image_attention);
  image("attention scores over all latents, as in Stable Diffusion 1",
        {of(batch), number(8, "heads"), of(pixels, 1, 64), of(pixels, 1, 64)}, 2,
        Remedy::image_attention);
}

}  // namespace

std::vector<TensorRule> tensor_rules() {
  Rules rules;
  add_attention(rules);
  add_activations(rules);
  add_loss(rules);
  add_weights(rules);
  add_caches(rules);
  add_images(rules);
  return rules;
}

std::vector<std::string> removed_by(Remedy remedy) {
  const std::string smaller =
      "a smaller micro-batch, with more steps of gradient accumulation to match";
  switch (remedy) {
    case Remedy::attention:
      return {
          "memory-efficient attention (torch.nn.functional.scaled_dot_product_attention, "
          "attn_implementation=\"sdpa\" or \"flash_attention_2\"). It never creates this tensor, "
          "and the batch can stay as it is",
          smaller, "a shorter sequence: the tensor grows with the square of the length"};
    case Remedy::mask:
      return {"is_causal=True, or an attention kernel that needs no mask as a tensor",
              "a shorter sequence: the tensor grows with the square of the length"};
    case Remedy::activation:
      return {"gradient checkpointing: layers keep only their input and compute the rest again",
              smaller, "a shorter sequence"};
    case Remedy::loss:
      return {
          "a fused or chunked loss (Liger's fused linear cross-entropy, cut cross-entropy): the "
          "logits of all tokens then never exist at the same time",
          smaller, "no logits for tokens that need none (prompt_logprobs, logits_to_keep)"};
    case Remedy::weight:
      return {"weights in a smaller type (bf16, 8 or 4 bits)",
              "LoRA: gradients and optimizer states of the adapters only",
              "weights spread over several GPUs, or partly in system memory"};
    case Remedy::flat_buffer:
      return {"a smaller bucket (reduce_bucket_size), or smaller wrapped units",
              "sharding over more GPUs, or offloading to system memory"};
    case Remedy::cache:
      return {"a shorter context, or fewer sequences at once",
              "a cache of 8 bits (--kv-cache-dtype fp8, --cache-type-k q8_0 --cache-type-v q8_0)"};
    case Remedy::decode:
      return {"tiled decoding (vae.enable_tiling(), \"VAE Decode (Tiled)\" in ComfyUI)",
              "one image at a time, or a smaller one"};
    case Remedy::image_attention:
      return {
          "memory-efficient attention (scaled_dot_product_attention, xformers): this tensor is "
          "then never created",
          "a smaller image, or one at a time"};
    case Remedy::convolution:
      return {"a smaller micro-batch or image", "gradient checkpointing",
              "mixed precision: half the bytes"};
  }
  return {};
}

}  // namespace headroom::estimate
