// SPDX-License-Identifier: Apache-2.0
#include "run/job_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/document.h"
#include "base/document_reader.h"
#include "estimate/automatic.h"
#include "estimate/job_words.h"
#include "estimate/model_config.h"
#include "knowledge/models.h"
#include "machine/standard_input.h"
#include "machine/user_files.h"
#include "run/model_defaults.h"
#include "run/model_files.h"

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
  auto text = path == "-" ? machine::read_standard_input() : machine::read_file(path);
  if (text) return *std::move(text);
  if (text.error().code == Errc::not_found) {
    return Error{Errc::not_found, fmt::format("expected a job file, found nothing at {}", path),
                 "give the path of a job; one to start from is examples/first-job/job.toml"};
  }
  return with_next(std::move(text).error(), "give the path of one TOML or JSON file");
}

// A model and what it was read from.
struct LoadedModel {
  estimate::Architecture model;
  Json config;
};

Result<LoadedModel> parse_config(Json config) {
  auto model = estimate::parse_architecture(config);
  if (!model) return std::move(model).error();
  return LoadedModel{*std::move(model), std::move(config)};
}

Result<Json> read_config(const std::string& path) {
  const auto text = machine::read_file(path);
  if (!text) {
    return with_next(Error(text.error()).at("model.config"),
                     "write the folder with the model's config.json, as seen from the job file");
  }
  auto config = parse_json(*text);
  if (!config) return std::move(config).error().in(path);
  return *std::move(config);
}

Result<LoadedModel> load_files(const std::string& path, const estimate::Job& job) {
  auto files = read_model_files(path);
  if (!files) return std::move(files).error().at("model.config");
  LoadedModel loaded;
  if (files->graph) {
    auto model = architecture_of(*files, job);
    if (!model) return std::move(model).error().in(path);
    loaded.model = *std::move(model);
  } else {
    if (!files->config) {
      HEADROOM_TRY(files->config, read_config(files->config_file));
    }
    auto model = parse_config(*std::move(files->config));
    if (!model) return std::move(model).error().in(files->place);
    loaded = *std::move(model);
  }
  loaded.model.weights = std::move(files->weights);
  loaded.model.notes.insert(loaded.model.notes.end(), files->notes.begin(), files->notes.end());
  return loaded;
}

Result<LoadedModel> load_named(const std::string& name) {
  HEADROOM_TRY(knowledge::KnownModel known, knowledge::find_model(name));
  auto loaded = parse_config(std::move(known.config));
  if (!loaded) return std::move(loaded).error().at("model.name");
  if (known.stands_in) {
    loaded->model.notes.push_back(
        fmt::format("model.name: \"{}\" is planned with the layers of {}", name, known.name));
  }
  return loaded;
}

// config before name: what the job itself brings is the model, whatever it is called.
Result<LoadedModel> load_model(const estimate::Job& job, const std::string& folder) {
  if (job.model.config) {
    auto loaded = parse_config(*job.model.config);
    if (!loaded) return std::move(loaded).error().at("model.config");
    return loaded;
  }
  if (job.model.config_path) return load_files(below(folder, *job.model.config_path), job);
  return load_named(job.model.name.value_or(""));
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

// Programs that run a model by rules of their own are planned by those (cli/plan_engine.h).
Result<Done> refuse_other_program(const JobFile& file) {
  constexpr std::array kinds = {"llama.cpp", "ollama", "vllm", "diffusers"};
  const std::string kind = file.engine();
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) return Done{};
  return Error{Errc::unsupported,
               fmt::format("{}: engine.kind: expected a job for PyTorch or headroom's trainer, "
                           "found one for {}",
                           file.name, kind),
               "headroom plan " + file.path};
}

// output.tensorboard, which parse_job has no word for and which is taken out of the job.
Result<bool> take_events(JobFile& file) {
  bool wanted = false;
  DocumentReader reader(file.document, {.root = "the job"});
  TableReader output = reader.root().optional_table("output");
  output.read("tensorboard", wanted);
  if (wanted && file.engine() != "headroom")
    output.fail("tensorboard", Errc::unsupported,
                "expected false but for headroom's own trainer, found true",
                "ask the program that trains for it, or write [engine] kind = \"headroom\"");
  HEADROOM_CHECK(reader.finish());
  if (output.has("tensorboard")) file.document.value["output"].erase("tensorboard");
  return wanted;
}

// Of modules_to_save PEFT copies those whose name the model has, and passes the others over. Our
// own two names are every model's.
void leave_out_unnamed(const Json& document, estimate::Job& job, estimate::Architecture& model) {
  if (job.method.modules_to_save.empty() || model.stacks.empty()) return;
  std::vector<estimate::Target> kept;
  const std::string embedding = model.main().names.embedding;
  for (const Json& name : document["method"]["modules_to_save"]) {
    const std::string word = name.get<std::string>();
    const bool own = word == "embed_tokens" || word == "lm_head" || word == model.main().names.head;
    const estimate::Target module = estimate::targets_of(word).front();
    if (own || embedding == word || embedding.ends_with("." + word)) {
      if (std::count(kept.begin(), kept.end(), module) == 0) kept.push_back(module);
      continue;
    }
    model.notes.push_back(fmt::format(
        "method.modules_to_save: {} has no module of the name \"{}\", which PEFT passes over.",
        model.family, word));
  }
  job.method.modules_to_save = std::move(kept);
}

// What headroom's own trainer reads of a config.json beside its sizes. A model that it cannot train
// is refused where its step is planned.
Status check_own_engine(const estimate::Job& job, const LoadedModel& loaded) {
  if (job.engine.kind != estimate::EngineKind::headroom || loaded.model.graph) return Done{};
  auto decoder = estimate::decoder_config(loaded.model);
  if (!decoder || !loaded.config.is_object()) return Done{};
  HEADROOM_CHECK(estimate::read_numbers(loaded.config, *decoder));
  return estimate::check_scaled_length(job, *decoder);
}

}  // namespace

std::string JobFile::engine() const {
  const auto table =
      document.value.is_object() ? document.value.find("engine") : document.value.end();
  if (table == document.value.end() || !table->is_object()) return "";
  const auto kind = table->find("kind");
  return kind != table->end() && kind->is_string() ? kind->get<std::string>() : "";
}

std::optional<std::string> JobFile::model(const char* key) const {
  const auto table =
      document.value.is_object() ? document.value.find("model") : document.value.end();
  if (table == document.value.end() || !table->is_object()) return std::nullopt;
  const auto found = table->find(key);
  if (found == table->end() || !found->is_string()) return std::nullopt;
  const std::string text = found->get<std::string>();
  return std::string_view(key) == "config" ? below(folder(), text) : text;
}

std::string JobFile::folder() const {
  return path.empty() || path == "-" || is_model ? "." : folder_of(path);
}

Result<JobFile> read_job_file(const std::string& path) {
  JobFile file;
  file.path = path;
  file.name = path == "-" ? "standard input" : path.empty() ? "plan" : path;
  file.is_model = !path.empty() && is_model(path);
  if (file.is_model) {
    file.document = default_job(path);
  } else if (!path.empty()) {
    HEADROOM_TRY(file.document, read_job_document(path, file.name));
  }
  return file;
}

Result<LoadedJob> load_job(const std::string& path, const JobFlags& flags) {
  HEADROOM_TRY(JobFile file, read_job_file(path));
  return load_job(std::move(file), flags);
}

Result<LoadedJob> load_job(JobFile file, const JobFlags& flags) {
  Document& document = file.document;
  apply(flags, document);
  HEADROOM_CHECK(refuse_other_program(file));
  const auto tensorboard = take_events(file);
  if (!tensorboard) return place_error(tensorboard.error(), flags, file.name);
  estimate::Automatic automatic;
  if (file.engine() == "headroom") automatic = estimate::take_automatic(document.value);
  auto job = estimate::parse_job(document);
  if (!job) return place_error(std::move(job).error(), flags, file.name);
  const std::string folder = flags.flags.contains("model.config") ? "." : file.folder();
  auto loaded = load_model(*job, folder);
  if (!loaded) return place_error(std::move(loaded).error(), flags, file.name);
  leave_out_unnamed(document.value, *job, loaded->model);
  take_model_defaults(file.is_model ? Document{} : document, *job, loaded->model);
  const Status own = check_own_engine(*job, *loaded);
  if (!own) return place_error(Error(own.error()), flags, file.name);
  std::vector<std::string>& notes = loaded->model.notes;
  if (file.is_model) notes.push_back(default_job_note(*job, loaded->model.graph != nullptr));
  if (const std::string note = default_note(flags, *job); file.path.empty() && !note.empty())
    notes.push_back(note);
  LoadedJob made{*std::move(job), std::move(loaded->model), std::move(loaded->config), folder};
  made.tensorboard = *tensorboard;
  if (!automatic.any()) return made;
  HEADROOM_TRY(const estimate::Device device, estimate::find_device(made.job));
  auto choice = estimate::choose_settings(document, automatic, made.model, device);
  if (!choice) return place_error(std::move(choice).error(), flags, file.name);
  made.job = choice->open;
  made.automatic = estimate::to_json(*choice);
  made.chosen = estimate::to_line(*choice);
  made.model.notes.push_back(made.chosen);
  return made;
}

}  // namespace headroom::run
