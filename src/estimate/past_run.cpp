// SPDX-License-Identifier: Apache-2.0
#include "estimate/past_run.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "estimate/job_json.h"

namespace headroom::estimate {
namespace {

constexpr std::array<std::pair<Outcome, std::string_view>, 3> outcomes = {
    {{Outcome::completed, "completed"},
     {Outcome::stopped, "stopped"},
     {Outcome::out_of_memory, "out-of-memory"}}};

// Beyond it no device is (allocator/models/make_policy.h), and SQLite's integers hold it.
constexpr std::uint64_t largest_amount = std::uint64_t{1} << 46U;

class Fnv1a {
 public:
  Fnv1a& add(std::uint64_t number) {
    for (int i = 0; i < 8; ++i) add_byte(static_cast<unsigned char>(number >> (8 * i)));
    return *this;
  }
  Fnv1a& add(std::string_view text) {
    for (const char c : text) add_byte(static_cast<unsigned char>(c));
    return add(text.size());
  }
  std::uint64_t value() const { return hash_; }

 private:
  void add_byte(unsigned char byte) { hash_ = (hash_ ^ byte) * 0x100000001b3U; }

  std::uint64_t hash_ = 0xcbf29ce484222325U;
};

template <class Enum>
std::uint64_t number_of(Enum value) {
  return static_cast<std::uint64_t>(value);
}

void add_attention(Fnv1a& hash, const AttentionShape& attention) {
  hash.add(attention.heads).add(attention.kv_heads).add(attention.head_dim);
  for (const bool flag : {attention.q_bias, attention.k_bias, attention.v_bias, attention.o_bias,
                          attention.fused_qkv, attention.qk_norm, attention.soft_cap})
    hash.add(std::uint64_t{flag});
}

void add_stack(Fnv1a& hash, const Stack& stack) {
  hash.add(number_of(stack.role)).add(stack.hidden).add(stack.layers);
  add_attention(hash, stack.attention);
  hash.add(stack.mlp.intermediate).add(std::uint64_t{stack.mlp.gated});
  hash.add(std::uint64_t{stack.mlp.bias}).add(number_of(stack.mlp.activation));
  if (stack.experts) {
    hash.add(stack.experts->count).add(stack.experts->per_token);
    hash.add(stack.experts->intermediate).add(stack.experts->shared_intermediate);
  }
  hash.add(number_of(stack.norm.kind)).add(number_of(stack.placement));
  hash.add(number_of(stack.positions)).add(stack.position_rows);
  hash.add(std::uint64_t{stack.cross_attention});
  for (const std::uint64_t window : stack.windows) hash.add(window);
  hash.add(number_of(stack.input.kind)).add(stack.input.width).add(stack.input.features);
  hash.add(stack.input.image_size).add(stack.input.patch_size).add(stack.input.mel_bins);
}

Error wrong(const std::string& key, const std::string& wanted, const Json& found) {
  return {
      Errc::invalid,
      fmt::format("{}: expected {}, found {}", key, wanted,
                  found.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 40)),
      R"(write {"measured": {"allocated_bytes": torch.cuda.max_memory_allocated()}} with json.dump)"};
}

// Nothing where the key is absent or null.
Result<std::optional<std::uint64_t>> read_amount(const Json& table, const std::string& key) {
  if (!table.contains(key) || table[key].is_null()) return std::optional<std::uint64_t>{};
  const Json& value = table[key];
  // Programs that count in floating point write 1.5e9.
  const bool whole =
      value.is_number_unsigned() || (value.is_number_float() && value.get<double>() >= 0 &&
                                     value.get<double>() <= static_cast<double>(largest_amount));
  if (!whole || value.get<std::uint64_t>() > largest_amount)
    return wrong(key, "a number of bytes", value);
  return std::optional<std::uint64_t>{value.get<std::uint64_t>()};
}

Result<std::optional<allocator::ByComponent>> read_components(const Json& table) {
  if (!table.contains("components") || table["components"].is_null())
    return std::optional<allocator::ByComponent>{};
  const Json& given = table["components"];
  if (!given.is_object()) return wrong("components", "an object", given);
  allocator::ByComponent components;
  for (const auto& item : given.items()) {
    const auto component = allocator::parse_component(item.key());
    if (!component) return wrong("components", "the components of a plan", item.key());
    HEADROOM_TRY(const auto amount, read_amount(given, item.key()));
    components[*component] = amount.value_or(0);
  }
  return std::optional{components};
}

std::string text_of(const Json& table, const std::string& key) {
  return table.contains(key) && table[key].is_string() ? table[key].get<std::string>() : "";
}

// A run that was stopped before a whole step was over has measured no peak.
Result<Outcome> outcome_of(const Json& report) {
  const auto found = report.find("oom_events");
  if (found != report.end() && found->is_array() && !found->empty()) return Outcome::out_of_memory;
  const auto completed = report.find("completed");
  if (completed == report.end()) return Outcome::completed;
  if (!completed->is_boolean()) return wrong("completed", "true or false", *completed);
  if (completed->get<bool>()) return Outcome::completed;
  const auto steps = report.find("steps");
  const bool stepped = steps != report.end() && steps->is_number_unsigned() && *steps > 1U;
  if (stepped) return Outcome::stopped;
  return Error{Errc::invalid, "expected a run of at least two whole steps, found none",
               "let it run for two steps: the first one is smaller than the others"};
}

}  // namespace

std::string_view to_string(Outcome outcome) {
  return outcomes.at(static_cast<std::size_t>(outcome)).second;
}

std::optional<Outcome> parse_outcome(std::string_view name) {
  for (const auto& [outcome, text] : outcomes) {
    if (text == name) return outcome;
  }
  return std::nullopt;
}

std::string fingerprint(const Architecture& model) {
  Fnv1a hash;
  hash.add(model.family).add(model.vocabulary).add(std::uint64_t{model.shared_embedding});
  hash.add(number_of(model.head.kind)).add(std::uint64_t{model.head.tied}).add(model.head.width);
  for (const Stack& stack : model.stacks) add_stack(hash, stack);
  return fmt::format("{:016x}", hash.value());
}

PastRun describe_run(const Plan& plan, const Architecture& model) {
  PastRun run;
  const Job& job = plan.job;
  const bool ours = job.engine.kind == EngineKind::headroom;
  run.family = model.family;
  run.model = job.model.name.value_or("");
  run.architecture = fingerprint(model);
  run.engine = to_string(job.engine.kind);
  if (job.engine.kind == EngineKind::transformers) run.engine_version = job.engine.transformers;
  run.method = to_string(job.method.kind);
  run.device = ours ? "host" : job.device.gpu.value_or("");
  run.job = to_json(job);
  run.predicted = {plan.allocated_bytes, plan.reserved_bytes, plan.device_bytes, plan.components};
  return run;
}

Status add_report(const Json& report, PastRun& run) {
  if (!report.is_object() || !report.contains("measured"))
    return wrong("report", "an object with \"measured\"", report);
  HEADROOM_TRY(run.measured, parse_memory_peak(report["measured"]));
  if (run.measured.allocated_bytes.value_or(0) == 0)
    return wrong("measured.allocated_bytes", "a number of bytes", report["measured"]);
  HEADROOM_TRY(run.outcome, outcome_of(report));
  if (report.contains("predicted") && report["predicted"].is_object()) {
    HEADROOM_TRY(run.predicted, parse_memory_peak(report["predicted"]));
  }
  for (const auto& [key, field] :
       {std::pair{"engine_version", &run.engine_version}, std::pair{"device", &run.device}}) {
    if (const std::string given = text_of(report, key); !given.empty()) *field = given;
  }
  return Done{};
}

Json to_json(const MemoryPeak& peak) {
  Json json = Json::object();
  if (peak.allocated_bytes) json["allocated_bytes"] = *peak.allocated_bytes;
  if (peak.reserved_bytes) json["reserved_bytes"] = *peak.reserved_bytes;
  if (peak.device_bytes) json["device_bytes"] = *peak.device_bytes;
  if (peak.components) {
    for (const auto component : allocator::all_components)
      json["components"][std::string(to_string(component))] = (*peak.components)[component];
  }
  return json;
}

Result<MemoryPeak> parse_memory_peak(const Json& json) {
  if (!json.is_object()) return wrong("memory", "an object", json);
  MemoryPeak peak;
  HEADROOM_TRY(peak.allocated_bytes, read_amount(json, "allocated_bytes"));
  HEADROOM_TRY(peak.reserved_bytes, read_amount(json, "reserved_bytes"));
  HEADROOM_TRY(peak.device_bytes, read_amount(json, "device_bytes"));
  HEADROOM_TRY(peak.components, read_components(json));
  return peak;
}

}  // namespace headroom::estimate
