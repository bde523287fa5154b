// SPDX-License-Identifier: Apache-2.0
#include "run/job_file.h"

#include <fmt/format.h>

#include <iostream>
#include <iterator>

#include "base/document.h"
#include "machine/user_files.h"

namespace headroom::run {
namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string below(const std::string& folder, const std::string& path) {
  if (path.starts_with('/') || folder == ".") return path;
  return folder.ends_with('/') ? folder + path : folder + "/" + path;
}

// The same error with what helps here.
Error with_next(Error error, const std::string& next) {
  error.next = next;
  return error;
}

Result<std::string> read_job_text(const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  auto text = machine::read_file(path);
  if (text) return *std::move(text);
  if (text.error().code == Errc::not_found) {
    return Error{Errc::not_found, fmt::format("expected a job file, found nothing at {}", path),
                 "give the path of a job; one to start from is examples/first-job/job.toml"};
  }
  return with_next(std::move(text).error(), "give the path of one TOML or JSON file");
}

// Where the config is: its file, or the key that holds it.
std::string config_place(const estimate::Job::Model& model, const std::string& folder) {
  if (model.config || !model.config_path) return "model.config";
  const std::string path = below(folder, *model.config_path);
  return path.ends_with(".json") ? path : path + "/config.json";
}

Result<Json> read_config(const estimate::Job::Model& model, const std::string& path) {
  if (model.config) return *model.config;
  if (!model.config_path) {
    return Error{
        Errc::unsupported,
        fmt::format("model.name: \"{}\" alone is not enough: this version has no table of models",
                    model.name.value_or("")),
        "add config = \"the folder with the model's config.json\" to [model]"};
  }
  const auto text = machine::read_file(path);
  if (!text) {
    return with_next(Error(text.error()).in("model.config"),
                     "write the folder with the model's config.json, as seen from the job file");
  }
  auto config = parse_json(*text);
  if (!config) return std::move(config).error().in(path);
  return *std::move(config);
}

// A model's own config.json, given where a job was expected.
bool is_model_config(const Json& value) {
  return value.is_object() && value.contains("model_type") && !value.contains("model");
}

}  // namespace

Result<LoadedJob> load_job(const std::string& path) {
  const std::string name = path == "-" ? "standard input" : path;
  HEADROOM_TRY(const std::string text, read_job_text(path));
  auto document = parse_document(text);
  if (!document) return std::move(document).error().in(name);
  if (is_model_config(document->value)) {
    return Error{Errc::invalid,
                 fmt::format("{}: expected a job, found a model's config.json", name),
                 fmt::format("write a job.toml with [model] config = \"{}\"", path)};
  }
  auto job = estimate::parse_job(*document);
  if (!job) return std::move(job).error().in(name);
  const std::string folder = path == "-" ? "." : folder_of(path);
  const std::string place = config_place(job->model, folder);
  auto config = read_config(job->model, place);
  if (!config) return std::move(config).error().in(name);
  auto model = estimate::parse_architecture(*config);
  if (!model) return std::move(model).error().in(name + ": " + place);
  return LoadedJob{*job, *model, *std::move(config), folder};
}

}  // namespace headroom::run
