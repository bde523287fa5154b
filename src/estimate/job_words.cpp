// SPDX-License-Identifier: Apache-2.0
#include "estimate/job_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/document.h"
#include "base/printable.h"

namespace headroom::estimate {
namespace {

struct ModuleWords {
  std::vector<Target> targets;
  std::vector<std::string_view> words;
};

const std::vector<ModuleWords>& modules() {
  using enum Target;
  // "dense" and "c_proj" are left out: they are two different modules of one layer.
  static const std::vector<ModuleWords> all = {
      // Of latent attention q is both matrices, k the one that narrows keys and values, v the one
      // that widens them. Of Mamba's mixer q goes in, k makes the parts of the scan, o goes out.
      {{q}, {"q", "q_proj", "query", "q_lin", "q_a_proj", "q_b_proj", "in_proj"}},
      {{k}, {"k", "k_proj", "key", "k_lin", "kv_a_proj_with_mqa", "x_proj"}},
      {{v}, {"v", "v_proj", "value", "v_lin", "kv_b_proj"}},
      {{o}, {"o", "o_proj", "out_proj", "out_lin"}},
      {{gate}, {"gate", "gate_proj", "wi_0"}},
      {{up}, {"up", "up_proj", "wi_1", "wi", "fc1", "c_fc", "lin1", "dense_h_to_4h"}},
      {{down}, {"down", "down_proj", "wo", "fc2", "lin2", "dense_4h_to_h"}},
      {{q, k, v}, {"qkv_proj", "query_key_value", "c_attn", "Wqkv"}},
      {{gate, up}, {"gate_up_proj"}},
      // What a model has once.
      {{embedding}, {"embed_tokens", "embed_in", "wte", "word_embeddings", "tok_embeddings"}},
      {{head}, {"lm_head", "embed_out"}},
      {{q, k, v, o, gate, up, down}, {"all-linear"}},
  };
  return all;
}

}  // namespace

const std::vector<AttentionWord>& attention_words() {
  static const std::vector<AttentionWord> words = {
      {"sdpa", std::nullopt},
      {"flash_attention_2", Attention::flash, /*own_windows=*/true},
      {"flash_attention_3", Attention::flash, /*own_windows=*/true},
  };
  return words;
}

const std::vector<OptimizerWord>& optimizer_words() {
  static const std::vector<OptimizerWord> words = {
      {"adamw_torch", OptimizerKind::adamw},
      {"adamw_torch_fused", OptimizerKind::adamw, /*fused=*/true},
      {"adamw_8bit", OptimizerKind::adamw8bit},
      {"adamw_bnb_8bit", OptimizerKind::adamw8bit},
  };
  return words;
}

std::vector<Target> targets_of(std::string_view module) {
  for (const ModuleWords& known : modules())
    if (std::find(known.words.begin(), known.words.end(), module) != known.words.end())
      return known.targets;
  return {};
}

void read_release(TableReader& table, const char* key, std::string& release) {
  std::string given = release;
  table.read(key, given);
  if (given == release) return;
  std::string_view number = given;
  if (number.starts_with('v')) number.remove_prefix(1);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  // Whole numbers with dots between them, then whatever a build adds to its name.
  const std::size_t end = number.find_first_not_of("0123456789.");
  const std::string_view core = number.substr(0, end);
  const std::string_view rest = end == std::string_view::npos ? "" : number.substr(end);
  constexpr std::string_view begins_rest = "+-abdr";  // "+rocm6.2", "rc1", ".dev0"
  const bool is_release =
      !core.empty() && is_digit(core.front()) && core.find("..") == std::string_view::npos &&
      (rest.empty() || begins_rest.find(rest.front()) != std::string_view::npos);
  if (is_release) {
    release = number;
    return;
  }
  table.fail(key, Errc::invalid,
             fmt::format("expected a release such as \"4.57.1\", or \"newest\", found \"{}\"",
                         printable(given)),
             fmt::format("write for instance {} = \"{}\", or leave it out", key,
                         std::string_view(key) == "torch" ? "2.6.0" : "4.57.1"));
}

void read_group_size(TableReader& table, Job::Method& method) {
  constexpr Range sizes = {1, 1U << 20U};
  const Json* given = table.find("group_size");
  if (given != nullptr && given->is_number() && *given == -1) {
    method.group_size = -1;
    return;
  }
  std::uint64_t size = 128;
  table.read("group_size", size, sizes);
  method.group_size = static_cast<std::int64_t>(size);
}

}  // namespace headroom::estimate
