// SPDX-License-Identifier: Apache-2.0
// The tensors of a planned step as an explanation: exact shapes and names, one for all layers.
#include "estimate/explain_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "estimate/explain.h"
#include "estimate/explain_sums.h"
#include "estimate/plan.h"
#include "estimate/step.h"
#include "estimate/tensor_rules.h"

namespace headroom::estimate {
namespace {

Remedy remedy_of(const TensorRecord& tensor) {
  const auto named = [&tensor](std::string_view part) {
    return tensor.name.find(part) != std::string::npos;
  };
  if (named("causal_mask")) return Remedy::mask;
  if (named("scores") || named("probabilities")) return Remedy::attention;
  if (tensor.component == Component::logits || named("logits")) return Remedy::loss;
  const bool state =
      tensor.component == Component::weights || tensor.component == Component::adapters ||
      tensor.component == Component::gradients || tensor.component == Component::optimizer;
  return state ? Remedy::weight : Remedy::activation;
}

}  // namespace

std::string without_numbers(const std::string& name) {
  std::string kind;
  for (const char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) kind += c;
    if (digit && !kind.ends_with('*') && kind.ends_with('.')) kind += '*';
  }
  return kind;
}

TensorMatch to_match(const TensorRecord& tensor, const PrintedSize& printed) {
  TensorMatch match;
  match.tensor = tensor.name;
  match.shape = tensor.meta.shape;
  match.dtype = to_string(tensor.meta.element);
  match.bytes = tensor.meta.bytes();
  const auto size = static_cast<double>(printed.size.value);
  match.error = std::abs(static_cast<double>(match.bytes) - size) / size;
  match.formula =
      fmt::format("{} × {} B", fmt::join(match.shape, " × "), size_of(tensor.meta.element));
  match.removed_by = removed_by(remedy_of(tensor));
  return match;
}

namespace {

// One match for each kind of tensor, in the order of the step.
std::vector<TensorMatch> planned_matches(const PrintedSize& printed, const Recording& recording) {
  struct Kind {
    std::size_t match = 0;
    std::map<std::string, int> names;  // A second step allocates the same names again.
  };
  std::vector<TensorMatch> matches;
  std::map<std::string, Kind> kinds;
  for (std::uint32_t id = 0; id < recording.tensors.size(); ++id) {
    if (!printed.stands_for(recording.tensors[id].meta.bytes())) continue;
    const TensorRecord tensor = recording.describe(id);
    const std::string key =
        without_numbers(tensor.name) +
        fmt::format(" {} {}", fmt::join(tensor.meta.shape, ","), to_string(tensor.meta.element));
    auto [found, is_new] = kinds.try_emplace(key);
    if (is_new) {
      found->second.match = matches.size();
      matches.push_back(to_match(tensor, printed));
    }
    ++found->second.names[tensor.name];
  }
  for (const auto& [key, kind] : kinds) {
    if (kind.names.size() > 1) {
      matches[kind.match].assumes.push_back(
          fmt::format("one of {} such tensors, each of its layer", kind.names.size()));
    }
  }
  return matches;
}

// After what one tensor explains.
void add_sums(std::vector<TensorMatch> sums, std::vector<TensorMatch>& matches) {
  const unsigned first = matches.empty() ? 0 : matches.back().rank + 1;
  for (TensorMatch& sum : sums) {
    sum.rank += first;
    matches.push_back(std::move(sum));
  }
}

}  // namespace

JobDimensions dimensions_of(const Job& job, const Architecture& model) {
  JobDimensions known;
  const auto add = [&known](Dimension dimension, std::uint64_t value, std::string source) {
    known.add(dimension, {value, std::move(source), 0});
  };
  add(Dimension::batch, job.batch.micro.value_or(0), "batch.micro");
  add(Dimension::sequence, job.batch.sequence, "batch.sequence");
  const Stack& stack = model.main();
  add(Dimension::heads, stack.attention.heads, "model.config num_attention_heads");
  add(Dimension::kv_heads, stack.attention.kv_heads, "model.config num_key_value_heads");
  add(Dimension::head_dim, stack.attention.head_dim, "model.config head_dim");
  add(Dimension::hidden, stack.hidden, "model.config hidden_size");
  add(Dimension::intermediate, stack.mlp.intermediate, "model.config intermediate_size");
  add(Dimension::vocabulary, model.vocabulary, "model.config vocab_size");
  add(Dimension::layers, stack.layers, "model.config num_hidden_layers");
  known.compute = job.compute.dtype;
  return known;
}

Result<std::vector<TensorMatch>> explain_allocation(const PrintedSize& printed, const Job& job,
                                                    const Architecture& model,
                                                    const Device& device) {
  Device plentiful = device;
  if (job.batch.micro && job.batch.accumulate)
    plentiful.capacity.reset();  // Nothing to search for.
  HEADROOM_TRY(const Plan plan, make_plan(job, model, plentiful));
  HEADROOM_TRY(const Recording recording, record_step(plan.job, model, device));
  std::vector<TensorMatch> matches = planned_matches(printed, recording);
  const std::size_t planned = matches.size();
  for (TensorMatch& other :
       explain_allocation(printed.size, printed.precision, dimensions_of(plan.job, model))) {
    // What the plan has by name is not said again.
    const bool named =
        std::any_of(matches.begin(), matches.begin() + static_cast<std::ptrdiff_t>(planned),
                    [&other](const TensorMatch& match) { return match.bytes == other.bytes; });
    if (named) continue;
    if (planned > 0) {
      ++other.rank;
      ++other.doubt;  // The plan has no such tensor.
    }
    matches.push_back(std::move(other));
  }
  if (planned == 0) add_sums(find_sums(printed, recording), matches);
  return matches;
}

}  // namespace headroom::estimate
