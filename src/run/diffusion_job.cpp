// SPDX-License-Identifier: Apache-2.0
#include "run/diffusion_job.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/document.h"
#include "estimate/diffusion/options.h"
#include "knowledge/pipelines.h"
#include "machine/user_files.h"

namespace headroom::run {
namespace {

namespace diffusion = estimate::diffusion;

std::optional<std::string> flag_text(const JobFlags& flags, const char* table, const char* key) {
  if (!flags.flags.contains(std::string(table) + "." + key)) return std::nullopt;
  const Json& value = flags.keys[table][key];
  return value.is_string() ? std::optional(value.get<std::string>()) : std::nullopt;
}

Result<Json> read_json(const std::string& path) {
  const auto text = machine::read_file(path);
  if (!text) {
    Error error = text.error();
    error.next = "write the folder that from_pretrained() reads, with its model_index.json";
    return std::move(error).at("model.config");
  }
  auto value = parse_json(*text);
  if (!value) return std::move(value).error().in(path);
  return *std::move(value);
}

// model_index.json names each component's library and class; a component's own config is beside it.
Result<Json> read_folder(const std::string& folder) {
  HEADROOM_TRY(Json index, read_json(folder + "/model_index.json"));
  Json components = {{"_class_name", index.value("_class_name", Json(nullptr))}};
  for (const auto& [name, kind] : index.items()) {
    const bool is_component = kind.is_array() && kind.size() == 2 && kind[1].is_string();
    if (name.starts_with('_') || !is_component) continue;
    const std::string path = folder + "/" + name + "/config.json";
    if (!machine::kind_of(path)) continue;  // Tokenizers and schedulers have none.
    HEADROOM_TRY(components[name], read_json(path));
  }
  return components;
}

struct Named {
  Json components;
  std::string name;
};

Result<Named> find_components(const JobFile& file, const JobFlags& flags) {
  auto folder = flag_text(flags, "model", "config");
  if (!folder) folder = file.model("config");
  auto name = flag_text(flags, "model", "name");
  if (!name) name = file.model("name");
  if (folder && !flag_text(flags, "model", "name")) {
    HEADROOM_TRY(Json components, read_folder(*folder));
    return Named{std::move(components), *folder};
  }
  if (!name)
    return Error{Errc::invalid,
                 fmt::format("{}: model: expected the name or the folder of a pipeline, found none",
                             file.name),
                 "write [model] name = \"stabilityai/stable-diffusion-xl-base-1.0\""};
  HEADROOM_TRY(const knowledge::KnownPipeline known, knowledge::find_pipeline(*name));
  return Named{known.components(), known.name};
}

// A job that is only there to name the device, and the type that it computes in.
Result<estimate::Job> device_job(const JobFile& file, const JobFlags& flags,
                                 estimate::DType dtype) {
  Document document;
  document.value = {{"model", {{"name", "pipeline"}}},
                    {"method", {{"kind", "inference"}}},
                    {"compute", {{"dtype", std::string(to_string(dtype))}}}};
  const Json& given = file.document.value;
  if (given.is_object() && given.contains("device")) document.value["device"] = given["device"];
  for (const auto& [key, flag] : flags.flags) {
    const std::size_t dot = key.find('.');
    if (key.starts_with("device."))
      document.value["device"][key.substr(dot + 1)] = flags.keys["device"][key.substr(dot + 1)];
  }
  auto job = estimate::parse_job(document);
  if (!job) return std::move(job).error().in(file.name);
  return job;
}

// The job's [engine], with what plan's own options say in its place.
Json engine_of(const JobFile& file, const JobFlags& flags) {
  const Json& value = file.document.value;
  Json engine = value.is_object() && value.contains("engine") ? value["engine"] : Json::object();
  if (!engine.is_object()) return engine;
  if (const auto type = flag_text(flags, "compute", "dtype")) engine["torch_dtype"] = *type;
  if (flags.flags.contains("batch.micro"))
    engine["num_images_per_prompt"] = flags.keys["batch"]["micro"];
  return engine;
}

// Training is another job, which would be answered as if it were a picture.
Status expect_inference(const JobFile& file, const JobFlags& flags) {
  const auto flag = flag_text(flags, "method", "kind");
  const Json& value = file.document.value;
  std::string method = flag.value_or("");
  if (!flag && value.is_object() && value.contains("method") && value["method"].is_object())
    method = value["method"].value("kind", Json("")).dump();
  std::erase(method, '"');
  if (method.empty() || method == "inference") return Done{};
  return Error{
      Errc::unsupported,
      fmt::format("{}: expected inference, found {}: headroom plans the making of pictures, "
                  "and not the training of diffusion models",
                  flag ? "--method" : file.name + ": method.kind", method),
      flag ? "leave --method out" : "leave [method] out"};
}

std::string unused(const JobFlags& flags) {
  std::string names;
  for (const auto& [key, flag] : flags.flags) {
    const bool used = key.starts_with("device.") || key == "model.name" || key == "model.config" ||
                      key == "engine.kind" || key == "compute.dtype" || key == "batch.micro" ||
                      key == "method.kind";
    if (!used) names += (names.empty() ? "" : ", ") + flag;
  }
  return names.empty() ? ""
                       : fmt::format(
                             "Ignored for diffusers: {}. The keys of [engine] in a job "
                             "file are diffusers' own calls and arguments.",
                             names);
}

}  // namespace

bool is_diffusion_job(const JobFile& file, const JobFlags& flags) {
  if (const auto kind = flag_text(flags, "engine", "kind")) return *kind == "diffusers";
  if (!file.engine().empty()) return file.engine() == "diffusers";
  const auto flag = flag_text(flags, "model", "name");
  const auto name = flag ? flag : file.model("name");
  return name && knowledge::is_pipeline(*name);
}

Result<DiffusionJob> load_diffusion_job(const JobFile& file, const JobFlags& flags) {
  HEADROOM_CHECK(expect_inference(file, flags));
  auto settings = diffusion::read_settings(engine_of(file, flags));
  if (!settings) return std::move(settings).error().in(file.name);
  HEADROOM_TRY(const Named named, find_components(file, flags));
  DiffusionJob result;
  auto shape = diffusion::parse_pipeline(named.components);
  if (!shape) return std::move(shape).error().in(named.name);
  result.shape = *std::move(shape);
  result.shape.name = named.name;
  result.settings = *settings;
  HEADROOM_TRY(result.job, device_job(file, flags, result.settings.dtype));
  if (std::string note = unused(flags); !note.empty()) result.notes.push_back(std::move(note));
  return result;
}

}  // namespace headroom::run
