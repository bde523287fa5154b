// SPDX-License-Identifier: Apache-2.0
#include "trainer/run_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "machine/checksum.h"

namespace headroom::trainer {
namespace {

constexpr const char* kind_of_optimizer = "optimizer.kind";
constexpr const char* masters_of_optimizer = "optimizer.master";
constexpr const char* evaluation_checksum = "data.evaluation: checksum of the tokens";

const char* name_of(at::ScalarType dtype) {
  return dtype == at::kBFloat16 ? "bf16" : dtype == at::kDouble ? "fp64" : "fp32";
}

// In the shortest digits that read back as the same number.
template <class Value>
std::string to_text(const Value& value) {
  return fmt::format("{}", value);
}

// "none", or what each layer sees: "0, 4096"; 0 is all.
std::string list_windows(const std::vector<std::uint64_t>& windows) {
  if (std::all_of(windows.begin(), windows.end(), [](std::uint64_t one) { return one == 0; }))
    return "none";
  std::vector<std::string> words;
  for (const std::uint64_t window : windows) words.push_back(to_text(window));
  return join(words, ", ");
}

// In each of these functions the structured binding names every field: one more, and it has to be
// decided here whether a resumed run may have another value of it.

void add_model(const estimate::ModelConfig& config, RunIdentity& identity) {
  const auto& [family, hidden, intermediate, layers, heads, kv_heads, head_dim, vocabulary, tied,
               qkv_bias, o_bias, mlp_bias, rms_norm_eps, rope_theta, rotary, qk_norm, fused,
               windows, position_rows, gemma, norms_around, query_scalar, score_cap, logit_cap] =
      config;
  identity.insert({{"model_type", family},
                   {"hidden_size", to_text(hidden)},
                   {"intermediate_size", to_text(intermediate)},
                   {"num_hidden_layers", to_text(layers)},
                   {"num_attention_heads", to_text(heads)},
                   {"num_key_value_heads", to_text(kv_heads)},
                   {"head_dim", to_text(head_dim)},
                   {"vocab_size", to_text(vocabulary)},
                   {"tie_word_embeddings", to_text(tied)},
                   {"attention_bias of q, k and v", to_text(qkv_bias)},
                   {"attention_bias of o", to_text(o_bias)},
                   {"mlp_bias", to_text(mlp_bias)},
                   {"rms_norm_eps", to_text(rms_norm_eps)},
                   {"rope_theta", to_text(rope_theta)},
                   {"rope_scaling", rotary.kind},
                   {"norm of each head of q and k", to_text(qk_norm)},
                   {"sliding_window", list_windows(windows)},
                   {"n_positions", to_text(position_rows)},
                   {"query_pre_attn_scalar", to_text(query_scalar)},
                   {"attn_logit_softcapping", to_text(score_cap)},
                   {"final_logit_softcapping", to_text(logit_cap)}});
}

std::string list_targets(std::vector<estimate::Target> targets) {
  std::sort(targets.begin(), targets.end());
  std::vector<std::string> names;
  for (const estimate::Target target : targets) names.emplace_back(to_string(target));
  return join(names, ", ");
}

void add_method(const std::optional<LoraOptions>& lora, RunIdentity& identity) {
  identity["method.kind"] = lora ? "lora" : "full";
  if (!lora) return;
  const auto& [rank, alpha, dropout, targets, dtype] = *lora;
  identity.insert({{"method.rank", to_text(rank)},
                   {"method.alpha", to_text(alpha)},
                   {"method.dropout", to_text(dropout)},
                   {"method.targets", list_targets(targets)},
                   {"method.adapter_dtype", name_of(dtype)}});
}

void add_options(const ModelOptions& options, RunIdentity& identity) {
  // The way to the same numbers, but for their rounding: attention, checkpointing, loss, how
  // the model is split, and where it is computed and kept. These are what a job that ran out of
  // memory changes before it goes on.
  const auto& [dtype, lora, attention, checkpointing, loss, longest, part, quantised, device,
               activations_host] = options;
  add_method(lora, identity);
  if (quantised) identity["method.base"] = to_string(*quantised);
  identity["compute.dtype"] = name_of(dtype);
  identity["batch.sequence"] = to_text(longest);
}

struct AddOptimizer {
  RunIdentity& identity;

  void operator()(const AdamWSettings& settings) const {
    const auto& [learning_rate, weight_decay, beta1, beta2, epsilon, in_bytes] = settings;
    identity.insert({{kind_of_optimizer, in_bytes ? "adamw8bit" : "adamw"},
                     {"optimizer.learning_rate", to_text(learning_rate)},
                     {"optimizer.weight_decay", to_text(weight_decay)},
                     {"optimizer.beta1", to_text(beta1)},
                     {"optimizer.beta2", to_text(beta2)},
                     {"optimizer.epsilon", to_text(epsilon)}});
  }

  void operator()(const SgdSettings& settings) const {
    const auto& [learning_rate, weight_decay, momentum, nesterov] = settings;
    identity.insert({{kind_of_optimizer, "sgd"},
                     {"optimizer.learning_rate", to_text(learning_rate)},
                     {"optimizer.weight_decay", to_text(weight_decay)},
                     {"optimizer.momentum", to_text(momentum)},
                     {"optimizer.nesterov", to_text(nesterov)}});
  }

  void operator()(const AdafactorSettings& settings) const {
    const auto& [learning_rate, weight_decay, clip_threshold, relative_step, warmup_init,
                 scale_parameter, decay_rate, gradient_epsilon, scale_epsilon] = settings;
    identity.insert({{kind_of_optimizer, "adafactor"},
                     {"optimizer.learning_rate", relative_step ? "none" : to_text(learning_rate)},
                     {"optimizer.weight_decay", to_text(weight_decay)},
                     {"optimizer.clip_threshold", to_text(clip_threshold)},
                     {"optimizer.relative_step", to_text(relative_step)},
                     {"optimizer.warmup_init", to_text(warmup_init)},
                     {"optimizer.scale_parameter", to_text(scale_parameter)},
                     {"optimizer.decay_rate", to_text(decay_rate)},
                     {"optimizer.epsilon", to_text(gradient_epsilon)},
                     {"optimizer.epsilon of a parameter's size", to_text(scale_epsilon)}});
  }
};

// A schedule that ends with the run is another one in a longer run; a length that is a ratio counts
// as the steps that it comes to.
void add_schedule(const ScheduleSettings& settings, std::uint64_t epochs, std::uint64_t steps,
                  RunIdentity& identity) {
  const auto& [kind, warmup_steps, warmup_ratio] = settings;
  identity["optimizer.schedule"] =
      decays(kind) ? fmt::format("{} over data.epochs = {}", to_string(kind), epochs)
                   : std::string(to_string(kind));
  identity["optimizer.warmup_steps"] = to_text(Schedule(settings, steps).warmup_steps());
}

// What was read is what counts: files may have moved.
void add_data(const data::Source& source, const data::SampleSet& samples, RunIdentity& identity) {
  const auto& [paths, kind, longest, vocabulary, key, tokenizer, chat_template, end_of_text,
               token_type, packing] = source;  // tokenizer to token_type show in the tokens.
  identity.insert({{"data.kind", kind},
                   {"data.path: samples", to_text(samples.size())},
                   {"data.path: tokens", to_text(samples.count_tokens())},
                   {"data.path: checksum of the tokens", samples.checksum()},
                   {"data.packing", to_text(packing)}});
}

std::string value_in(const RunIdentity& identity, const std::string& name) {
  // Checkpoints from before there was such a key were computed as if it had this value.
  static const RunIdentity before = {
      {kind_of_optimizer, "adamw"},     {"optimizer.schedule", "constant"},
      {"optimizer.warmup_steps", "0"},  {"optimizer.max_grad_norm", "none"},
      {evaluation_checksum, "none"},    {"norm of each head of q and k", "false"},
      {"sliding_window", "none"},       {"n_positions", "0"},
      {"query_pre_attn_scalar", "0"},   {"attn_logit_softcapping", "0"},
      {"final_logit_softcapping", "0"}, {"method.base", "not quantised"},
      {"rope_scaling", "default"},      {"data.packing", "false"},
      {masters_of_optimizer, "none"}};
  if (const auto found = identity.find(name); found != identity.end()) return found->second;
  const auto old = before.find(name);
  return old == before.end() ? "nothing" : old->second;
}

// Of a checksum, enough to tell it from another.
std::string shown(const std::string& value) {
  constexpr std::size_t digits = 64;
  constexpr std::size_t shown_digits = 12;
  return value.size() == digits ? value.substr(0, shown_digits) + "…" : value;
}

}  // namespace

RunIdentity identify(const Settings& settings, const data::Split& samples) {
  // The rest of config.json changes nothing; where the model lies is no matter, and of what its
  // weights are add_base() tells; the length of the run, its memory, where that is, and how often
  // it is evaluated may change.
  const auto& [config, original_config, model_folder, model, optimizer, masters, offload, schedule,
               max_grad_norm, batch, data, evaluation, evaluate_every, epochs, seed, capacity] =
      settings;
  RunIdentity identity;
  add_model(config, identity);
  add_options(model, identity);
  std::visit(AddOptimizer{identity}, optimizer);
  identity[masters_of_optimizer] = masters ? "fp32" : "none";
  add_schedule(schedule, epochs, data::count_steps(samples.training.rows(), batch, epochs),
               identity);
  identity["optimizer.max_grad_norm"] = max_grad_norm ? to_text(*max_grad_norm) : "none";
  add_data(data, samples.training, identity);
  // Losses on other samples cannot be compared with that of the best model so far.
  identity[evaluation_checksum] =
      samples.evaluation.empty() ? "none" : samples.evaluation.checksum();
  const auto& [micro, accumulate] = batch;  // A step's rows may be cut in any way.
  identity["batch.micro × batch.accumulate"] = to_text(micro * accumulate);
  identity["data.seed"] = to_text(seed);
  return identity;
}

Status add_base(const std::string& checksums, Ranks& ranks, RunIdentity& identity) {
  std::string all = checksums;
  if (ranks.is_split()) {
    HEADROOM_TRY(const auto parts, ranks.gather(checksums));
    all = join(parts, "");
  }
  identity["model.config: checksum of the frozen weights"] = machine::sha256(all);
  return Done{};
}

const std::vector<std::string>& changeable_settings() {
  static const std::vector<std::string> names = {
      "optimizer.learning_rate", "optimizer.weight_decay",  "optimizer.schedule",
      "optimizer.warmup_steps",  "optimizer.max_grad_norm", "method.dropout"};
  return names;
}

std::vector<std::string> differences(const RunIdentity& checkpoint, const RunIdentity& job,
                                     const std::vector<std::string>& allowed) {
  std::set<std::string> names;
  for (const auto& [name, value] : checkpoint) names.insert(name);
  for (const auto& [name, value] : job) names.insert(name);
  for (const std::string& name : allowed) names.erase(name);
  // Another optimizer has other numbers: that it is another one says it all.
  if (value_in(checkpoint, kind_of_optimizer) != value_in(job, kind_of_optimizer))
    std::erase_if(names, [&](const std::string& name) {
      return name.starts_with("optimizer.") &&
             (!checkpoint.contains(name) || !job.contains(name)) && name != kind_of_optimizer;
    });
  std::vector<std::string> found;
  for (const std::string& name : names) {
    const std::string there = value_in(checkpoint, name);
    const std::string here = value_in(job, name);
    if (there != here)
      found.push_back(fmt::format("{}: expected {} as in the checkpoint, found {}", name,
                                  shown(there), shown(here)));
  }
  return found;
}

}  // namespace headroom::trainer
