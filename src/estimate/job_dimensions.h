// SPDX-License-Identifier: Apache-2.0
// What is known of the sizes of a job: batch, sequence, heads and so on, each with where it came
// from. A dimension may be unknown, and may have several readings ("hidden_dim" is the model's
// width to one program and the feed-forward's to another): all are kept, with how doubtful each is.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "estimate/job.h"

namespace headroom::estimate {

enum class Dimension : std::uint8_t {
  batch,            // Sequences or images in one pass on one GPU.
  sequence,         // Tokens of one sequence.
  tokens,           // Tokens of one pass, where a server counts those.
  cache_length,     // Tokens that the key/value cache holds, per sequence.
  heads,            // Query heads.
  kv_heads,         // Key and value heads.
  head_dim,         // Width of one head.
  hidden,           // Width of the residual stream.
  intermediate,     // Width inside the feed-forward.
  vocabulary,       // Rows of the embedding table.
  layers,           //
  height,           // Of an image, in pixels.
  width,            //
  frames,           // Of a video.
  channels,         // Of a convolution's output.
  latent_channels,  // Of a diffusion model's latents.
  bucket,           // Elements of one bucket of gradients.
  // Products and sums of the ones above; with_derived() fills them in.
  query_size,        // heads × head_dim
  qkv_size,          // (heads + 2 × kv_heads) × head_dim
  pixels,            // height × width
  layer_parameters,  // Of one layer, without norms and biases.
  parameters,        // Of all layers, embedding table and head.
};
constexpr std::size_t dimension_count = static_cast<std::size_t>(Dimension::parameters) + 1;

// In plain words: "batch", "key/value heads", "feed-forward width".
std::string_view to_string(Dimension dimension);

struct Reading {
  std::uint64_t value = 0;
  std::string source;  // "--batch_size", "model.config", "hidden width / heads".
  unsigned doubt =
      0;  // 0: its name says it; 1: one of two meanings, or usual; 2: a limit or worse.
};

class JobDimensions {
 public:
  static constexpr std::size_t max_readings = 3;

  // Values no such dimension has (0 heads, a hidden width of 1) are left out; the same value twice
  // counts once, with the smaller doubt; what comes after max_readings is left out.
  void add(Dimension dimension, Reading reading) {
    add(dimension, std::move(reading), max_readings);
  }
  // One of many that are usual, where nothing is said: these are not limited.
  void add_usual(Dimension dimension, Reading reading) {
    add(dimension, std::move(reading), SIZE_MAX);
  }
  const std::vector<Reading>& of(Dimension dimension) const {
    return readings_[static_cast<std::size_t>(dimension)];
  }
  bool knows(Dimension dimension) const { return !of(dimension).empty(); }
  bool empty() const;

  // What the job computes in, where that is said: fp32, bf16 or fp16.
  std::optional<DType> compute;

 private:
  void add(Dimension dimension, Reading reading, std::size_t most);

  std::array<std::vector<Reading>, dimension_count> readings_;
};

// The same with what follows from it: head_dim from hidden and heads, as many key/value heads as
// heads, a feed-forward of four times the hidden width or as Llama's (doubtful), the vocabularies
// of well-known models (more so), one image where no batch is said, and the products and sums.
// Nothing that was known changes.
JobDimensions with_derived(JobDimensions known);

// Of the dimensions without which hardly any tensor can be named, those that are unknown: batch,
// sequence, hidden, heads, vocabulary for a language model; none if an image's size is known.
std::vector<Dimension> needed(const JobDimensions& known);

}  // namespace headroom::estimate
