// SPDX-License-Identifier: Apache-2.0
#include "estimate/job_dimensions.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"

namespace headroom::estimate {
namespace {

struct Limits {
  std::string_view name;
  std::uint64_t smallest;  // Below it, the number is something else: dim=1 in a traceback.
  std::uint64_t largest;
};

constexpr std::uint64_t many = std::uint64_t{1} << 24U;
constexpr std::array<Limits, dimension_count> limits = {{
    {"batch", 1, many},
    {"sequence", 8, many},
    {"tokens", 8, many},
    {"cache length", 8, many},
    {"heads", 1, 4096},
    {"key/value heads", 1, 4096},
    {"head width", 4, 4096},
    {"hidden width", 16, many},
    {"feed-forward width", 16, many},
    {"vocabulary", 64, many},
    {"layers", 1, 4096},
    {"height", 16, 65536},
    {"width", 16, 65536},
    {"frames", 2, 65536},
    {"channels", 1, 65536},
    {"latent channels", 1, 4096},
    {"bucket", 1024, std::uint64_t{1} << 40U},
    {"query width", 1, std::uint64_t{1} << 40U},
    {"width of queries, keys and values", 1, std::uint64_t{1} << 40U},
    {"pixels", 1, std::uint64_t{1} << 40U},
    {"parameters of a layer", 1, std::uint64_t{1} << 56U},
    {"parameters", 1, std::uint64_t{1} << 60U},
}};

struct Vocabulary {
  std::uint64_t size;
  std::string_view models;
};

// vocab_size of their config.json.
constexpr std::array<Vocabulary, 14> vocabularies = {{
    {30522, "BERT"},
    {32000, "Llama 2 and Mistral"},
    {32128, "T5"},
    {32768, "Mistral 0.3"},
    {49152, "StarCoder and SmolLM"},
    {50257, "GPT-2"},
    {50304, "GPT-2, padded"},
    {102400, "DeepSeek"},
    {128256, "Llama 3"},
    {129280, "DeepSeek-V3"},
    {131072, "Mistral Nemo"},
    {151936, "Qwen 2 and 3"},
    {152064, "the larger Qwen 2.5"},
    {256000, "Gemma"},
}};

const Limits& limits_of(Dimension dimension) {
  return limits.at(static_cast<std::size_t>(dimension));
}

// The first reading, which is the most trusted one; 0 if there is none.
std::uint64_t first(const JobDimensions& known, Dimension dimension) {
  return known.knows(dimension) ? known.of(dimension).front().value : 0;
}

unsigned doubt(const JobDimensions& known, Dimension dimension) {
  return known.knows(dimension) ? known.of(dimension).front().doubt : 0;
}

void derive_heads(JobDimensions& known) {
  const std::uint64_t heads = first(known, Dimension::heads);
  const std::uint64_t hidden = first(known, Dimension::hidden);
  if (!known.knows(Dimension::head_dim) && heads > 0 && hidden % heads == 0) {
    known.add(Dimension::head_dim,
              {hidden / heads, "hidden width / heads", doubt(known, Dimension::hidden)});
  }
  const std::uint64_t head_dim = first(known, Dimension::head_dim);
  if (!known.knows(Dimension::hidden))
    known.add(Dimension::hidden, {heads * head_dim, "heads × head width", 0});
  if (!known.knows(Dimension::kv_heads))
    known.add(Dimension::kv_heads, {heads, "as many as heads", doubt(known, Dimension::heads)});
  const std::uint64_t kv_heads = first(known, Dimension::kv_heads);
  const unsigned sum = doubt(known, Dimension::head_dim);
  known.add(Dimension::query_size, {heads * head_dim, "heads × head width", sum});
  if (heads > 0 && head_dim > 0)
    known.add(Dimension::qkv_size, {(heads + 2 * kv_heads) * head_dim,
                                    "(heads + 2 × key/value heads) × head width", sum});
}

// Llama's layers have three feed-forward weights, GPT-2's two.
void derive_parameters(JobDimensions& known) {
  const std::uint64_t hidden = first(known, Dimension::hidden);
  const std::uint64_t inner = first(known, Dimension::intermediate);
  const std::uint64_t query = first(known, Dimension::query_size);
  const std::uint64_t qkv = first(known, Dimension::qkv_size);
  const std::uint64_t layers = first(known, Dimension::layers);
  const std::uint64_t vocabulary = first(known, Dimension::vocabulary);
  if (hidden == 0 || inner == 0 || qkv == 0) return;
  for (const std::uint64_t weights : {std::uint64_t{3}, std::uint64_t{2}}) {
    const std::uint64_t layer = hidden * (query + qkv) + weights * hidden * inner;
    const std::string kind = weights == 3 ? "with gate, up and down" : "with up and down";
    known.add(Dimension::layer_parameters, {layer, kind, doubt(known, Dimension::intermediate)});
    if (layers == 0 || vocabulary == 0) continue;
    known.add(Dimension::parameters, {layers * layer + vocabulary * hidden,
                                      "all layers " + kind + ", and the embedding table",
                                      doubt(known, Dimension::intermediate)});
  }
}

}  // namespace

std::string_view to_string(Dimension dimension) {
  return limits_of(dimension).name;
}

void JobDimensions::add(Dimension dimension, Reading reading, std::size_t most) {
  const Limits& limit = limits_of(dimension);
  if (reading.value < limit.smallest || reading.value > limit.largest) return;
  auto& all = readings_[static_cast<std::size_t>(dimension)];
  const auto same = std::find_if(all.begin(), all.end(), [&reading](const Reading& other) {
    return other.value == reading.value;
  });
  if (same != all.end()) {
    if (reading.doubt < same->doubt) *same = std::move(reading);
  } else {
    all.push_back(std::move(reading));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Reading& a, const Reading& b) { return a.doubt < b.doubt; });
  if (all.size() > most) all.resize(most);
}

bool JobDimensions::empty() const {
  return std::all_of(readings_.begin(), readings_.end(),
                     [](const auto& readings) { return readings.empty(); });
}

JobDimensions with_derived(JobDimensions known) {
  derive_heads(known);
  if (!known.knows(Dimension::intermediate)) {
    const std::uint64_t hidden = first(known, Dimension::hidden);
    known.add(Dimension::intermediate, {4 * hidden, "4 × hidden width, the usual", 1});
    known.add(Dimension::intermediate,
              {round_up(8 * hidden / 3, 256), "8/3 × hidden width, as in Llama", 1});
  }
  if (!known.knows(Dimension::cache_length)) {
    for (const Reading& length : std::vector<Reading>(known.of(Dimension::sequence)))
      known.add(Dimension::cache_length, length);
  }
  if (known.knows(Dimension::height) && known.knows(Dimension::width)) {
    const std::uint64_t height = first(known, Dimension::height);
    known.add(Dimension::pixels, {height * first(known, Dimension::width), "height × width", 0});
    if (!known.knows(Dimension::batch)) known.add(Dimension::batch, {1, "one image", 1});
    if (!known.knows(Dimension::latent_channels))
      known.add(Dimension::latent_channels, {4, "as in Stable Diffusion", 1});
  }
  derive_parameters(known);
  if (!known.knows(Dimension::vocabulary)) {
    for (const auto& [size, models] : vocabularies)
      known.add_usual(Dimension::vocabulary, {size, fmt::format("as in {}", models), 2});
  }
  return known;
}

std::vector<Dimension> needed(const JobDimensions& known) {
  std::vector<Dimension> unknown;
  if (known.knows(Dimension::height) && known.knows(Dimension::width)) return unknown;
  for (const Dimension dimension : {Dimension::batch, Dimension::sequence, Dimension::heads,
                                    Dimension::hidden, Dimension::vocabulary}) {
    if (!known.knows(dimension)) unknown.push_back(dimension);
  }
  return unknown;
}

}  // namespace headroom::estimate
