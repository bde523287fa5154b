// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/text.h"
#include "machine/user_files.h"
#include "tokens/sample_reader.h"
#include "trainer/data/load_encoder.h"
#include "trainer/data/sample_set.h"
#include "trainer/data/samples.h"

namespace headroom::trainer::data {
namespace {

namespace fs = std::filesystem;

// Whether samples stay in their files.
bool is_stored(const Source& source) {
  return source.kind == "bin" || source.kind == "npy";
}

constexpr std::size_t largest_file = std::size_t{4} << 30U;

// What is data in a folder.
std::vector<std::string> endings_of(const Source& source) {
  if (source.kind == "jsonl" || is_stored(source)) return {"." + source.kind};
  return {".txt", ".md"};
}

// The files of data in a folder and of the folders below it, sorted.
Result<std::vector<std::string>> list_data_files(const std::string& folder, const Source& source) {
  std::vector<std::string> files;
  std::error_code problem;
  fs::recursive_directory_iterator entry(folder, problem);
  for (; !problem && entry != fs::recursive_directory_iterator(); entry.increment(problem)) {
    const std::string extension = entry->path().extension().string();
    const std::vector<std::string> endings = endings_of(source);
    const bool is_data = std::find(endings.begin(), endings.end(), extension) != endings.end();
    if (entry->is_regular_file() && is_data) {
      files.push_back(entry->path().string());
    }
  }
  if (problem) {
    return Error{Errc::io, fmt::format("reading folder {}: {}", folder, problem.message()),
                 "make the folder readable, or name files in " + source.key};
  }
  std::sort(files.begin(), files.end());
  return files;
}

Error no_files(const Source& source) {
  const std::string endings = join(endings_of(source), " or ");
  return {Errc::invalid,
          fmt::format("{}: expected files that end in {} in {}, found none", source.key, endings,
                      source.paths.empty() ? "it" : join(source.paths, ", ")),
          fmt::format("set {} to a folder with {} files, or to a file", source.key, endings)};
}

Error unreadable(const Source& source, Error error) {
  if (error.next.empty())
    error.next = "set " + source.key + " to a file or a folder that can be read";
  return error;
}

Error no_samples(const Source& source, const std::vector<std::string>& files) {
  const std::string places = join(source.paths, ", ");
  const bool records = source.kind == "jsonl";
  const std::string next =
      records ? fmt::format("set {} to a .jsonl file with lines such as {{\"text\": \"…\"}}",
                            source.key)
              : fmt::format("set {} to a file with text, or to a folder with .txt or .md files",
                            source.key);
  if (files.empty()) return no_files(source);
  const bool tokens = source.kind == "tokens";
  const char* expected = tokens    ? "lines of two token ids or more"
                         : records ? "lines with something to learn"
                                   : "text to train on";
  const char* found = tokens || records ? "no such line" : "only blank lines";
  return {Errc::invalid,
          fmt::format("{}: expected {} in {}, found {}", source.key, expected, places, found),
          next};
}

Status read_whole_files(const Source& source, const std::vector<std::string>& files,
                        Samples& samples) {
  for (const std::string& file : files) {
    const auto text = machine::read_file(file, largest_file);
    if (!text) return unreadable(source, text.error());
    if (source.kind == "tokens") {
      HEADROOM_CHECK(add_token_samples(*text, file, {source.longest, source.vocabulary}, samples));
    } else {
      add_text_samples(*text, source.longest, samples);
    }
  }
  return Done{};
}

struct Destination {
  Samples& samples;
  std::vector<std::string>& notes;
};

// What became of lines that did not fit, if anything did.
void note_losses(const Source& source, const tokens::SampleCounts& counts,
                 std::vector<std::string>& notes) {
  if (counts.shortened > 0)
    notes.push_back(
        fmt::format("{}: lines longer than batch.sequence = {} tokens, which lost their "
                    "end: {}",
                    source.key, source.longest, counts.shortened));
  if (counts.without_targets > 0)
    notes.push_back(fmt::format("{}: lines without an answer to learn{}, which were left out: {}",
                                source.key, counts.shortened > 0 ? " within batch.sequence" : "",
                                counts.without_targets));
}

Status stream_files(const Source& source, const std::vector<std::string>& files,
                    tokens::TextEncoder& encoder, Destination to) {
  const auto given = tokens::find_template(source.chat_template);
  const auto chat_template = given ? *given : tokens::recognise_template(encoder);
  tokens::SampleReader reader(encoder, chat_template, {source.longest, source.vocabulary});
  for (const std::string& file : files) {
    const auto bytes = machine::open_file(file);
    if (!bytes) return unreadable(source, bytes.error());
    HEADROOM_CHECK(source.kind == "jsonl" ? reader.add_records(**bytes, file, to.samples)
                                          : reader.add_text(**bytes, file, to.samples));
  }
  if (reader.counts().conversations > 0)
    to.notes.push_back(fmt::format(
        "{}: conversations by the template {}{}: {}", source.key, tokens::to_string(chat_template),
        given ? "" : ", as the tokenizer's special tokens say (data.template sets another)",
        reader.counts().conversations));
  note_losses(source, reader.counts(), to.notes);
  return Done{};
}

Error too_short(const Source& source) {
  return {Errc::invalid,
          fmt::format("batch.sequence: expected at least 2 tokens, one to predict from and one to "
                      "predict; found {}",
                      source.longest),
          "write sequence = 256 or more under [batch]"};
}

}  // namespace

Result<std::vector<std::string>> list_files(const Source& source) {
  std::vector<std::string> files;
  for (const std::string& path : source.paths) {
    std::error_code ignored;  // What is no folder is read as a file, and fails there with a reason.
    if (!fs::is_directory(path, ignored)) {
      files.push_back(path);
      continue;
    }
    HEADROOM_TRY(const std::vector<std::string> found, list_data_files(path, source));
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

Result<Samples> read_samples(const Source& source, std::vector<std::string>& notes) {
  std::unique_ptr<tokens::TextEncoder> encoder;
  if (source.kind != "tokens") {
    HEADROOM_TRY(encoder, load_encoder(source, notes));
  }
  if (source.longest < 2) return too_short(source);
  HEADROOM_TRY(const std::vector<std::string> files, list_files(source));
  Samples samples;
  if (source.kind == "tokens" || (source.kind == "text" && source.tokenizer.empty())) {
    HEADROOM_CHECK(read_whole_files(source, files, samples));
  } else {
    HEADROOM_CHECK(stream_files(source, files, *encoder, {samples, notes}));
  }
  if (samples.empty()) return no_samples(source, files);
  return samples;
}

Result<SampleSet> open_samples(const Source& source, std::vector<std::string>& notes) {
  if (!is_stored(source)) {
    HEADROOM_TRY(Samples samples, read_samples(source, notes));
    return SampleSet(std::move(samples));
  }
  if (source.longest < 2) return too_short(source);
  HEADROOM_TRY(const std::vector<std::string> files, list_files(source));
  if (files.empty()) return no_files(source);
  HEADROOM_TRY(auto stored, StoredSamples::open(source, files, notes));
  return SampleSet(std::move(stored));
}

Result<Samples> read_samples(const Source& source) {
  std::vector<std::string> notes;
  return read_samples(source, notes);
}

}  // namespace headroom::trainer::data
