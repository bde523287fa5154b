// SPDX-License-Identifier: Apache-2.0
#include "run/model_defaults.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/document.h"

namespace headroom::run {
namespace {

using estimate::MethodKind;
using estimate::StoredQuantization;
using estimate::WeightFormat;

bool says(const Document& given, const char* pointer) {
  return given.value.contains(Json::json_pointer(pointer));
}

std::optional<WeightFormat> format_of(const StoredQuantization& stored) {
  if (stored.method == "gptq" && stored.bits == 4) return WeightFormat::gptq4;
  if (stored.method == "gptq" && stored.bits == 8) return WeightFormat::gptq8;
  if (stored.method == "awq" && stored.bits == 4) return WeightFormat::awq4;
  if (stored.method == "bitsandbytes" && stored.bits == 8) return WeightFormat::int8;
  if (stored.method == "bitsandbytes" && stored.bits == 4)
    return stored.double_quantized ? WeightFormat::nf4_dq : WeightFormat::nf4;
  return std::nullopt;
}

void take_base(const Document& given, estimate::Job& job, estimate::Architecture& model) {
  if (!model.stored || says(given, "/method/base")) return;
  const StoredQuantization& stored = *model.stored;
  const std::string name = fmt::format("{} in {} bits", stored.method, stored.bits);
  const auto format = format_of(stored);
  if (!format || job.method.kind == MethodKind::full) {
    model.notes.push_back(
        fmt::format("The checkpoint is quantised ({}), {}: planned with weights in {}.", name,
                    format ? "which cannot be trained in full" : "which headroom does not know",
                    to_string(job.method.base)));
    return;
  }
  job.method.base = *format;
  if (!says(given, "/method/group_size")) job.method.group_size = stored.group_size;
  if (job.method.kind == MethodKind::lora) job.method.kind = MethodKind::qlora;
  model.notes.push_back(fmt::format("Weights as the checkpoint holds them: {}.", name));
}

void take_sequence(const Document& given, estimate::Job& job, estimate::Architecture& model) {
  if (model.graph || model.stacks.empty()) return;
  const estimate::Stack& main = model.main();
  const bool table = main.positions == estimate::Positions::learned && main.position_rows > 0 &&
                     main.input.kind == estimate::Input::Kind::tokens;
  const std::uint64_t most = model.max_positions > 0
                                 ? std::min(model.max_positions, main.position_rows)
                                 : main.position_rows;
  if (!table || most >= job.batch.sequence || says(given, "/batch/sequence")) return;
  job.batch.sequence = most;
  model.notes.push_back(
      fmt::format("No length was given: {} tokens, all that the model has.", most));
  if (!says(given, "/batch/prompt"))
    job.batch.prompt = most - std::min(most - 1, job.batch.generate);
}

}  // namespace

void take_model_defaults(const Document& given, estimate::Job& job, estimate::Architecture& model) {
  take_base(given, job, model);
  take_sequence(given, job, model);
}

}  // namespace headroom::run
