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
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

std::string below(const std::string& folder, const std::string& path) {
  return path.starts_with('/') ? path : folder + "/" + path;
}

Result<std::string> read_job_text(const std::string& path) {
  if (path != "-") return machine::read_file(path);
  return std::string(std::istreambuf_iterator<char>(std::cin), {});
}

Result<Json> read_config(const estimate::Job::Model& model, const std::string& folder) {
  if (model.config) return *model.config;
  if (!model.config_path) {
    return Error{
        Errc::unsupported,
        fmt::format("model.name: \"{}\" alone is not enough: this version has no table of models",
                    model.name.value_or("")),
        "add config = \"folder with its config.json\" to [model]"};
  }
  std::string path = below(folder, *model.config_path);
  if (!path.ends_with(".json")) path += "/config.json";
  HEADROOM_TRY(const std::string text, machine::read_file(path));
  auto config = parse_json(text);
  if (!config) return std::move(config).error().in(path);
  return *config;
}

}  // namespace

Result<LoadedJob> load_job(const std::string& path) {
  const std::string name = path == "-" ? "standard input" : path;
  HEADROOM_TRY(const std::string text, read_job_text(path));
  auto document = parse_document(text);
  if (!document) return std::move(document).error().in(name);
  auto job = estimate::parse_job(*document);
  if (!job) return std::move(job).error().in(name);
  const std::string folder = path == "-" ? "." : folder_of(path);
  HEADROOM_TRY(Json config, read_config(job->model, folder));
  auto model = estimate::parse_model_config(config);
  if (!model) return std::move(model).error().in(name + ": model.config");
  return LoadedJob{*job, *model, std::move(config), folder};
}

}  // namespace headroom::run
