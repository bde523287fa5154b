// SPDX-License-Identifier: Apache-2.0
#include "run/job_file.h"

#include <fmt/format.h>

#include <iostream>
#include <iterator>
#include <optional>
#include <utility>

#include "base/document.h"
#include "knowledge/models.h"
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

// What a model is read from, and where that is: a file, or the key that holds or names it.
struct ModelSource {
  Json config;
  std::string place;
  std::optional<std::string> stand_in;  // The model of the table whose layers are planned instead.
};

Result<ModelSource> read_named(const std::string& name) {
  HEADROOM_TRY(knowledge::KnownModel model, knowledge::find_model(name));
  ModelSource source{std::move(model.config), "model.name", std::nullopt};
  if (model.stands_in) source.stand_in = std::move(model.name);
  return source;
}

// config before name: what the job itself brings is the model, whatever it is called.
Result<ModelSource> read_model(const estimate::Job::Model& model, const std::string& folder) {
  if (model.config) return ModelSource{*model.config, "model.config", std::nullopt};
  if (!model.config_path) return read_named(model.name.value_or(""));
  std::string path = below(folder, *model.config_path);
  if (!path.ends_with(".json")) path += "/config.json";
  const auto text = machine::read_file(path);
  if (!text) {
    return with_next(Error(text.error()).in("model.config"),
                     "write the folder with the model's config.json, as seen from the job file");
  }
  auto config = parse_json(*text);
  if (!config) return std::move(config).error().in(path);
  return ModelSource{*std::move(config), path, std::nullopt};
}

// A model's own config.json, given where a job was expected.
bool is_model_config(const Json& value) {
  return value.is_object() && value.contains("model_type") && !value.contains("model");
}

Result<Document> read_job_document(const std::string& path, const std::string& name) {
  HEADROOM_TRY(const std::string text, read_job_text(path));
  auto document = parse_document(text);
  if (!document) return std::move(document).error().in(name);
  if (is_model_config(document->value)) {
    return Error{Errc::invalid,
                 fmt::format("{}: expected a job, found a model's config.json", name),
                 fmt::format("write a job.toml with [model] config = \"{}\"", path)};
  }
  return document;
}

}  // namespace

Result<LoadedJob> load_job(const std::string& path, const JobFlags& flags) {
  const std::string name = path == "-" ? "standard input" : path.empty() ? "plan" : path;
  Document document;
  if (!path.empty()) {
    HEADROOM_TRY(document, read_job_document(path, name));
  }
  apply(flags, document);
  auto job = estimate::parse_job(document);
  if (!job) return place_error(std::move(job).error(), flags, name);
  const bool beside_job = !flags.flags.contains("model.config") && path != "-" && !path.empty();
  const std::string folder = beside_job ? folder_of(path) : ".";
  auto source = read_model(job->model, folder);
  if (!source) return place_error(std::move(source).error(), flags, name);
  auto model = estimate::parse_architecture(source->config);
  if (!model) return std::move(model).error().in(name + ": " + source->place);
  if (source->stand_in) {
    model->notes.push_back(fmt::format("model.name: \"{}\" is planned with the layers of {}",
                                       job->model.name.value_or(""), *source->stand_in));
  }
  if (const std::string note = default_note(flags); path.empty() && !note.empty())
    model->notes.push_back(note);
  return LoadedJob{*job, *model, std::move(source->config), folder};
}

}  // namespace headroom::run
