// SPDX-License-Identifier: Apache-2.0
#include "trainer/checkpoint.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <vector>

#include "base/text.h"
#include "trainer/checksum.h"
#include "trainer/header_seal.h"
#include "trainer/kernels/kernels.h"
#include "trainer/safetensors_file.h"

namespace headroom::trainer {
namespace {

constexpr const char* format_name = "headroom.checkpoint/2";
constexpr const char* old_format_name = "headroom.checkpoint/1";  // Without any checksum.
constexpr const char* state_prefix = "optimizer.";   // Then "mean." and the parameter's name.
constexpr std::string_view run_prefix = "run: ";     // Of the identity's names.
constexpr std::string_view sum_prefix = "sha256: ";  // Of the tensors' names.

constexpr const char* device_key = "computed on";  // "gpu"; older versions and processors: none.
constexpr const char* fused_key = "fused multiply-add";  // "true" or "false".

using Metadata = std::map<std::string, std::string>;

// Every tensor of a checkpoint, in the order of the file; with or without copies of what another
// rank has too.
std::vector<NamedTensor> list_tensors(Model& model, const Optimizer& optimizer, bool with_copies) {
  std::vector<NamedTensor> tensors;
  std::size_t next = 0;
  for (const Parameter& parameter : model.trainable()) {
    const std::size_t i = next++;
    if (parameter.is_copy && !with_copies) continue;
    tensors.push_back({parameter.name, parameter.value});
    for (const Optimizer::State& state : optimizer.states_of(i))
      tensors.push_back(
          {fmt::format("{}{}.{}", state_prefix, state.name, parameter.name), state.value});
  }
  return tensors;
}

Error other_run(const std::string& path, const std::string& difference) {
  return {Errc::invalid, fmt::format("{} is a checkpoint of another run: {}", path, difference),
          "resume with the job, the data and the model that wrote it, or begin anew in another "
          "folder: --output DIR, without --resume"};
}

constexpr const char* put_back =
    "put back a copy of it, or begin anew in another folder: --output DIR, without --resume";

Error damaged(const std::string& path, const std::string& what) {
  return {
      Errc::invalid,
      fmt::format("{} is damaged: expected {} as it was written, found other bytes", path, what),
      put_back};
}

// What is cut short or no such file was not downloaded from anywhere.
Result<SafetensorsFile> open_file(const std::string& path) {
  auto file = SafetensorsFile::open(path);
  if (file || file.error().code != Errc::invalid) return file;
  Error error = std::move(file).error();
  error.next = put_back;
  return error;
}

std::optional<std::string> find(const SafetensorsFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end()) return std::nullopt;
  return found->second;
}

// A damaged header may call itself an older one's, which has no checksums to say so: an older one
// has none at all.
Result<bool> check_header(const SafetensorsFile& file) {
  const auto is_ours = [](const auto& entry) {
    return entry.first.starts_with(sum_prefix) || entry.first == seal_key;
  };
  const Metadata& metadata = file.metadata();
  const bool has_checksums = std::any_of(metadata.begin(), metadata.end(), is_ours);
  const std::string format = find(file, "format").value_or("");
  if (!has_checksums && format == old_format_name) return false;
  if (has_checksums) {
    HEADROOM_TRY(const std::string header, file.read_header_bytes());
    if (!is_sealed(header)) return damaged(file.path(), "its header");
  }
  if (has_checksums && format == format_name) return true;
  return other_run(file.path(), fmt::format("expected the format {}, found {}", format_name,
                                            format.empty() ? "none" : format));
}

// The names of the format's first version.
RunIdentity old_identity(const RunIdentity& identity) {
  return {{"seed", identity.at("data.seed")},
          {"data_samples", identity.at("data.path: samples")},
          {"data_tokens", identity.at("data.path: tokens")},
          {"samples_per_step", identity.at("batch.micro × batch.accumulate")}};
}

RunIdentity identity_in(const SafetensorsFile& file, bool has_checksums) {
  RunIdentity identity;
  for (const auto& [key, value] : file.metadata()) {
    if (has_checksums && key.starts_with(run_prefix))
      identity[key.substr(run_prefix.size())] = value;
  }
  if (has_checksums) return identity;
  for (const char* key : {"seed", "data_samples", "data_tokens", "samples_per_step"}) {
    if (const auto value = find(file, key)) identity[key] = *value;
  }
  return identity;
}

// The key of what differs, where all of it may be changed once that is said.
bool may_change(const std::vector<std::string>& different) {
  return std::all_of(different.begin(), different.end(), [](const std::string& difference) {
    const std::vector<std::string>& names = changeable_settings();
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return difference.starts_with(name + ":"); });
  });
}

Status check_identity(const SafetensorsFile& file, const RunIdentity& there,
                      const RunIdentity& here, const std::vector<std::string>& allowed) {
  constexpr std::size_t shown = 4;
  std::vector<std::string> different = differences(there, here, allowed);
  if (different.empty()) return Done{};
  const bool meant = may_change(different);
  const std::size_t more = different.size() > shown ? different.size() - shown : 0;
  std::string keys;
  for (const std::string& difference : different)
    keys += " --allow-change " + difference.substr(0, difference.find(':'));
  different.resize(different.size() - more);
  Error error = other_run(
      file.path(), join(different, "; ") + (more > 0 ? fmt::format("; and {} more", more) : ""));
  if (meant)
    error.next = "write it in the job as it was; or, if the change is meant, --resume" + keys;
  return error;
}

// `is_whole`: those are all that a checkpoint of the model has.
Status check_tensors(const SafetensorsFile& file, const std::vector<NamedTensor>& expected,
                     bool is_whole) {
  for (const auto& [name, tensor] : expected) {
    const auto found = file.tensors().find(name);
    if (found == file.tensors().end() || tensor.sizes() != found->second.shape) {
      return other_run(file.path(), fmt::format("it has no {} of this model's shape", name));
    }
  }
  if (is_whole && file.tensors().size() != expected.size()) {
    return other_run(file.path(), fmt::format("it has {} tensors, {} expected",
                                              file.tensors().size(), expected.size()));
  }
  return Done{};
}

Status read_tensors(const SafetensorsFile& file, const std::vector<NamedTensor>& tensors,
                    bool has_checksums) {
  for (const auto& [name, tensor] : tensors) {
    HEADROOM_CHECK(file.read(name, tensor));
    if (has_checksums && find(file, std::string(sum_prefix) + name) != checksum_of(tensor))
      return damaged(file.path(), "the tensor " + name);
  }
  return Done{};
}

Result<std::uint64_t> read_count(const SafetensorsFile& file, const char* key) {
  const auto count = parse_u64(find(file, key).value_or(""));
  if (!count) return other_run(file.path(), fmt::format("its {} is not a number", key));
  return *count;
}

// Where no evaluation has been, there are no such keys; older versions wrote none.
Status read_evaluation(const SafetensorsFile& file, Position& position) {
  if (!find(file, "evaluated")) return Done{};
  HEADROOM_TRY(position.evaluated, read_count(file, "evaluated"));
  if (!find(file, "best step")) return Done{};
  HEADROOM_TRY(const std::uint64_t step, read_count(file, "best step"));
  const auto loss = parse_double(find(file, "best loss").value_or(""));
  if (!loss) return other_run(file.path(), "its best loss is not a number");
  position.best = Position::Best{step, *loss};
  return Done{};
}

Result<Position> read_position(const SafetensorsFile& file) {
  Position position;
  HEADROOM_TRY(position.steps, read_count(file, "steps"));
  HEADROOM_TRY(position.epoch, read_count(file, "epoch"));
  HEADROOM_TRY(position.sample, read_count(file, "sample"));
  HEADROOM_TRY(position.samples, read_count(file, "samples"));
  if (find(file, "at once")) {
    HEADROOM_TRY(const std::uint64_t at_once, read_count(file, "at once"));
    if (at_once == 0) return other_run(file.path(), "expected samples at once, found 0");
    position.at_once = at_once;
  }
  HEADROOM_CHECK(read_evaluation(file, position));
  return position;
}

}  // namespace

std::string checkpoint_path(const std::string& output) {
  return output + "/checkpoint/state.safetensors";
}

Status save_checkpoint(const std::string& path, Model& model, Optimizer& optimizer,
                       const RunIdentity& identity, const Position& position,
                       const TensorWriter& writer) {
  const std::vector<NamedTensor> tensors = list_tensors(model, optimizer, false);
  Metadata metadata = {{"format", format_name},
                       {std::string(seal_key), empty_seal()},
                       {"steps", std::to_string(position.steps)},
                       {"epoch", std::to_string(position.epoch)},
                       {"sample", std::to_string(position.sample)},
                       {"samples", std::to_string(position.samples)}};
  if (model.options().gpu()) {
    metadata[device_key] = "gpu";
  } else {
    metadata[fused_key] = kernels::kernels().fused ? "true" : "false";
  }
  if (position.evaluated > 0) metadata["evaluated"] = std::to_string(position.evaluated);
  if (position.at_once) metadata["at once"] = std::to_string(*position.at_once);
  if (position.best) {
    metadata["best step"] = std::to_string(position.best->step);
    metadata["best loss"] = fmt::format("{}", position.best->loss);  // Reads back as it is.
  }
  for (const auto& [name, value] : identity) metadata[std::string(run_prefix) + name] = value;
  for (const auto& [name, tensor] : tensors)
    metadata[std::string(sum_prefix) + name] = checksum_of(tensor);
  return writer.write(path, tensors, metadata, seal);
}

Result<LoadedCheckpoint> load_checkpoint(const std::string& path, Model& model,
                                         Optimizer& optimizer, const RunIdentity& identity,
                                         const std::vector<std::string>& allowed) {
  HEADROOM_TRY(const SafetensorsFile file, open_file(path));
  LoadedCheckpoint loaded;
  HEADROOM_TRY(loaded.has_checksums, check_header(file));
  HEADROOM_CHECK(check_identity(file, identity_in(file, loaded.has_checksums),
                                loaded.has_checksums ? identity : old_identity(identity), allowed));
  HEADROOM_TRY(loaded.position, read_position(file));
  if (const auto fused = find(file, fused_key)) loaded.fused = *fused == "true";
  loaded.gpu = find(file, device_key) == "gpu";
  optimizer.allocate_states();
  const std::vector<NamedTensor> tensors = list_tensors(model, optimizer, true);
  HEADROOM_CHECK(check_tensors(file, tensors, model.part().stages == 1));
  HEADROOM_CHECK(read_tensors(file, tensors, loaded.has_checksums));
  optimizer.set_steps(loaded.position.steps);
  return loaded;
}

}  // namespace headroom::trainer
