// SPDX-License-Identifier: Apache-2.0
#include "run/ollama_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/document.h"
#include "base/text.h"
#include "machine/user_files.h"
#include "run/command_words.h"
#include "run/ollama_store.h"

namespace headroom::run {
namespace {

using estimate::llama::OllamaSettings;
using estimate::llama::take_ollama_parameter;
using estimate::llama::take_ollama_variable;

std::string variable(const std::string& environment, std::string_view name) {
  for (const std::string_view one : split(environment, '\0')) {
    if (one.size() > name.size() && one.starts_with(name) && one[name.size()] == '=')
      return std::string(one.substr(name.size() + 1));
  }
  return "";
}

Result<Done> take_assignment(std::string_view word, OllamaSettings& settings) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return Done{};
  HEADROOM_TRY(const bool taken,
               take_ollama_variable(std::string(word.substr(0, equals)),
                                    std::string(word.substr(equals + 1)), settings));
  (void)taken;
  return Done{};
}

// What ollama itself would have from its environment, where headroom runs in the same one.
Result<Done> take_environment(const std::string& environment, OllamaSettings& settings) {
  for (const std::string_view one : split(environment, '\0')) {
    if (one.starts_with("OLLAMA_")) HEADROOM_CHECK(take_assignment(one, settings));
  }
  return Done{};
}

// A file, or a model of the store, whose parameters hold where nothing else is said.
Result<Done> find_weights(OllamaJob& job, const std::vector<std::string>& folders) {
  LlamaJob& llama = job.llama;
  const auto kind = machine::kind_of(job.name);
  if (kind && *kind == EntryKind::file) {
    llama.options.model = job.name;
    return Done{};
  }
  HEADROOM_TRY(StoredModel stored, find_ollama_model(job.name, folders));
  llama.options.model = stored.weights;
  llama.notes = std::move(stored.notes);
  for (const auto& [key, value] : stored.parameters) {
    HEADROOM_TRY(const bool taken, take_ollama_parameter(key, value, job.settings));
    if (taken)
      llama.notes.push_back(fmt::format(
          "From the model's own parameters, which win over variables: {} {}.", key, value));
  }
  return Done{};
}

Result<Done> load_weights(OllamaJob& job, Document document, const JobFlags& flags) {
  auto loaded = load_llama_model(job.llama.options.model, std::move(document), flags);
  if (!loaded) {
    Error error = std::move(loaded).error();
    // A blob of the store has no path that a person could correct.
    const bool stored = job.llama.options.model != job.name;
    if (stored && error.code == Errc::not_found) error.next = "ollama pull " + job.name;
    return error;
  }
  loaded->notes = std::move(job.llama.notes);
  job.llama = *std::move(loaded);
  return Done{};
}

// The model's place behind the options of "ollama run", of which these take a value
// (ollama/ollama: cmd/cmd.go).
std::size_t model_at(const std::vector<std::string>& words, std::size_t at) {
  constexpr std::array with_value = {"--keepalive", "--format", "--dimensions"};
  while (at < words.size() && words[at].starts_with('-')) {
    const bool takes =
        std::find(with_value.begin(), with_value.end(), words[at]) != with_value.end();
    at += takes ? 2 : 1;
  }
  return at;
}

// Behind the model: "/set parameter num_ctx 8192", as people type it in ollama's prompt.
Result<Done> take_words(const std::vector<std::string>& words, std::size_t at, OllamaJob& job) {
  std::vector<std::string> unread;
  for (std::size_t i = at; i < words.size(); ++i) {
    const bool sets = words[i] == "/set" && i + 3 < words.size() && words[i + 1] == "parameter";
    if (!sets) {
      if (words[i].starts_with('-')) unread.push_back(words[i]);
      continue;
    }
    HEADROOM_TRY(const bool taken, take_ollama_parameter(words[i + 2], words[i + 3], job.settings));
    if (!taken) unread.push_back(words[i + 2]);
    i += 3;
  }
  if (!unread.empty()) job.llama.notes.push_back(fmt::format("Ignored: {}.", join(unread, ", ")));
  return Done{};
}

Result<Done> take_keys(const Json& engine, OllamaSettings& settings) {
  for (const auto& [key, value] : engine.items()) {
    if (key == "kind") continue;
    const std::string word = value.is_string() ? value.get<std::string>() : value.dump();
    HEADROOM_TRY(const bool variable, take_ollama_variable(key, word, settings));
    if (variable) continue;
    HEADROOM_TRY(const bool parameter, take_ollama_parameter(key, word, settings));
    if (!parameter)
      return Error{
          Errc::invalid,
          fmt::format("engine.{}: expected num_ctx, num_gpu, num_batch, use_mmap or one of "
                      "ollama's variables, found one that is not read",
                      key.substr(0, 80)),
          "the keys that are read are listed in docs/plan.md", "engine"};
  }
  return Done{};
}

Result<std::string> model_of(const JobFile& file) {
  for (const char* key : {"config", "name"})
    if (auto text = file.model(key)) return *std::move(text);
  return Error{
      Errc::invalid,
      fmt::format("{}: model: expected a name of ollama's or a GGUF file, found none", file.name),
      "write [model] name = \"llama3.2:3b\""};
}

}  // namespace

bool is_ollama_command(const std::vector<std::string>& words) {
  const std::size_t at = program_at(words);
  return at + 1 < words.size() && base_name(words[at]) == "ollama" &&
         (words[at + 1] == "run" || words[at + 1] == "serve");
}

std::vector<std::string> ollama_folders(const std::string& environment) {
  std::vector<std::string> folders;
  const std::string own = variable(environment, "OLLAMA_MODELS");
  const std::string home = variable(environment, "HOME");
  if (!own.empty()) return {own};
  if (!home.empty()) folders.push_back(home + "/.ollama/models");
  folders.emplace_back(
      "/usr/share/ollama/.ollama/models");  // Of the service that its script installs.
  return folders;
}

Result<OllamaJob> load_ollama_command(const std::vector<std::string>& words, const JobFlags& flags,
                                      const std::string& environment) {
  OllamaJob job;
  const std::size_t at = program_at(words);
  const std::size_t model = model_at(words, at + 2);
  if (words[at + 1] != "run" || model >= words.size())
    return Error{Errc::invalid, "plan: expected ollama run MODEL in the command, found no model",
                 "headroom plan -- OLLAMA_CONTEXT_LENGTH=8192 ollama run llama3.2:3b"};
  job.name = words[model];
  std::string variables;
  for (std::size_t i = 0; i < at; ++i) variables += words[i] + '\0';
  HEADROOM_CHECK(take_environment(environment, job.settings));
  HEADROOM_CHECK(take_environment(variables, job.settings));
  HEADROOM_CHECK(find_weights(job, ollama_folders(variables + environment)));
  HEADROOM_CHECK(take_words(words, model + 1, job));
  HEADROOM_CHECK(load_weights(job, {Json::object(), {}}, flags));
  return job;
}

Result<OllamaJob> load_ollama_job(JobFile file, const JobFlags& flags,
                                  const std::string& environment) {
  OllamaJob job;
  HEADROOM_TRY(job.name, model_of(file));
  HEADROOM_CHECK(find_weights(job, ollama_folders(environment)));
  auto taken = take_keys(file.document.value["engine"], job.settings);
  if (!taken) return std::move(taken).error().in(file.name);
  HEADROOM_CHECK(load_weights(job, std::move(file.document), flags));
  return job;
}

}  // namespace headroom::run
