// SPDX-License-Identifier: Apache-2.0
#include "trainer/best_model.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/document.h"
#include "trainer/output_folder.h"
#include "trainer/safetensors_file.h"
#include "trainer/save_model.h"

namespace headroom::trainer {
namespace {

constexpr const char* step_remark = "headroom.step";
constexpr const char* loss_remark = "headroom.evaluation_loss";

}  // namespace

Status BestModel::save(Model& model, std::uint64_t step, double loss,
                       const TensorWriter& writer) const {
  if (writer.writes()) HEADROOM_CHECK(make_folder(folder_));
  const Remarks remarks = {{step_remark, std::to_string(step)},
                           {loss_remark, fmt::format("{}", loss)}};
  return model.options().lora ? save_adapter(folder_, model, base_, remarks, writer)
                              : save_model(folder_, model, config_, remarks, writer);
}

bool BestModel::holds(std::uint64_t step, const Model& model) const {
  const bool lora = model.options().lora.has_value();
  std::error_code ignored;
  // It is written last.
  if (!std::filesystem::exists(folder_ + (lora ? "/adapter_config.json" : "/config.json"), ignored))
    return false;
  const auto file =
      SafetensorsFile::open(folder_ + (lora ? "/adapter_model.safetensors" : "/model.safetensors"));
  if (!file) return false;
  const auto found = file->metadata().find(step_remark);
  return found != file->metadata().end() && found->second == std::to_string(step);
}

}  // namespace headroom::trainer
