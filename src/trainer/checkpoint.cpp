// SPDX-License-Identifier: Apache-2.0
#include "trainer/checkpoint.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "base/text.h"
#include "trainer/safetensors_file.h"

namespace headroom::trainer {
namespace {

constexpr const char* format_name = "headroom.checkpoint/1";
constexpr const char* mean_prefix = "optimizer.mean.";
constexpr const char* variance_prefix = "optimizer.variance.";

using Metadata = std::map<std::string, std::string>;

Metadata describe(const RunIdentity& identity) {
  return {{"seed", std::to_string(identity.seed)},
          {"data_samples", std::to_string(identity.data_samples)},
          {"data_tokens", std::to_string(identity.data_tokens)},
          {"samples_per_step", std::to_string(identity.samples_per_step)}};
}

// Every tensor of a checkpoint, in the order of the file.
std::vector<NamedTensor> list_tensors(Model& model, AdamW& optimizer) {
  std::vector<NamedTensor> tensors;
  std::size_t i = 0;
  for (const Parameter& parameter : model.trainable()) {
    const AdamW::State& state = optimizer.states()[i++];
    tensors.push_back({parameter.name, parameter.value});
    tensors.push_back({mean_prefix + parameter.name, state.mean});
    tensors.push_back({variance_prefix + parameter.name, state.variance});
  }
  return tensors;
}

Error other_run(const std::string& path, const std::string& difference) {
  return {Errc::invalid, fmt::format("{} is a checkpoint of another run: {}", path, difference),
          "resume with the job that wrote it, or start anew without --resume"};
}

Status check_identity(const SafetensorsFile& file, const RunIdentity& identity) {
  Metadata expected = describe(identity);
  expected["format"] = format_name;
  for (const auto& [key, value] : expected) {
    const auto found = file.metadata().find(key);
    if (found == file.metadata().end() || found->second != value) {
      return other_run(
          file.path(),
          fmt::format("{} is {} there, {} in this job", key,
                      found == file.metadata().end() ? "missing" : found->second, value));
    }
  }
  return Done{};
}

Status check_tensors(const SafetensorsFile& file, const std::vector<NamedTensor>& expected) {
  for (const auto& [name, tensor] : expected) {
    const auto found = file.tensors().find(name);
    if (found == file.tensors().end() || tensor.sizes() != found->second.shape) {
      return other_run(file.path(), fmt::format("it has no {} of this model's shape", name));
    }
  }
  if (file.tensors().size() != expected.size()) {
    return other_run(file.path(), fmt::format("it has {} tensors, {} expected",
                                              file.tensors().size(), expected.size()));
  }
  return Done{};
}

Result<std::uint64_t> read_count(const SafetensorsFile& file, const char* key) {
  const auto found = file.metadata().find(key);
  const auto count = found == file.metadata().end() ? std::nullopt : parse_u64(found->second);
  if (!count) return other_run(file.path(), fmt::format("its {} is no number", key));
  return *count;
}

}  // namespace

std::string checkpoint_path(const std::string& output) {
  return output + "/checkpoint/state.safetensors";
}

Status save_checkpoint(const std::string& path, Model& model, AdamW& optimizer,
                       const RunIdentity& identity, const Position& position) {
  Metadata metadata = describe(identity);
  metadata["format"] = format_name;
  metadata["steps"] = std::to_string(position.steps);
  metadata["epoch"] = std::to_string(position.epoch);
  metadata["sample"] = std::to_string(position.sample);
  metadata["samples"] = std::to_string(position.samples);
  return write_safetensors(path, list_tensors(model, optimizer), metadata);
}

Result<Position> load_checkpoint(const std::string& path, Model& model, AdamW& optimizer,
                                 const RunIdentity& identity) {
  HEADROOM_TRY(const SafetensorsFile file, SafetensorsFile::open(path));
  HEADROOM_CHECK(check_identity(file, identity));
  Position position;
  HEADROOM_TRY(position.steps, read_count(file, "steps"));
  HEADROOM_TRY(position.epoch, read_count(file, "epoch"));
  HEADROOM_TRY(position.sample, read_count(file, "sample"));
  HEADROOM_TRY(position.samples, read_count(file, "samples"));
  optimizer.allocate_states();
  const std::vector<NamedTensor> tensors = list_tensors(model, optimizer);
  HEADROOM_CHECK(check_tensors(file, tensors));
  for (const auto& [name, tensor] : tensors) HEADROOM_CHECK(file.read(name, tensor));
  optimizer.set_steps(position.steps);
  return position;
}

}  // namespace headroom::trainer
