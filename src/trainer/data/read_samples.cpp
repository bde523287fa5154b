// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "machine/user_files.h"
#include "trainer/data/samples.h"

namespace headroom::trainer::data {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t largest_file = std::size_t{4} << 30U;

// The text files of a folder and of the folders below it, sorted.
Result<std::vector<std::string>> list_text_files(const std::string& folder,
                                                 const std::string& key) {
  std::vector<std::string> files;
  std::error_code problem;
  fs::recursive_directory_iterator entry(folder, problem);
  for (; !problem && entry != fs::recursive_directory_iterator(); entry.increment(problem)) {
    const std::string extension = entry->path().extension().string();
    if (entry->is_regular_file() && (extension == ".txt" || extension == ".md")) {
      files.push_back(entry->path().string());
    }
  }
  if (problem) {
    return Error{Errc::io, fmt::format("reading folder {}: {}", folder, problem.message()),
                 "make the folder readable, or name files in " + key};
  }
  std::sort(files.begin(), files.end());
  return files;
}

Result<std::vector<std::string>> list_files(const Source& source) {
  std::vector<std::string> files;
  for (const std::string& path : source.paths) {
    std::error_code ignored;  // What is no folder is read as a file, and fails there with a reason.
    if (!fs::is_directory(path, ignored)) {
      files.push_back(path);
      continue;
    }
    HEADROOM_TRY(const std::vector<std::string> found, list_text_files(path, source.key));
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

Error unreadable(const Source& source, Error error) {
  if (error.next.empty())
    error.next = "set " + source.key + " to a file or a folder that can be read";
  return error;
}

Error no_samples(const Source& source, const std::vector<std::string>& files) {
  const std::string places = join(source.paths, ", ");
  if (files.empty()) {
    return {Errc::invalid,
            fmt::format("{}: expected files that end in .txt or .md in {}, found none", source.key,
                        places.empty() ? "it" : places),
            fmt::format("set {} to a file with text, or to a folder with .txt or .md files",
                        source.key)};
  }
  const bool tokens = source.kind == "tokens";
  return {
      Errc::invalid,
      fmt::format("{}: expected {} in {}, found {}", source.key,
                  tokens ? "lines of two token ids or more" : "text to train on", places,
                  tokens ? "no such line" : "only blank lines"),
      fmt::format("set {} to a file with text, or to a folder with .txt or .md files", source.key)};
}

}  // namespace

Result<Samples> read_samples(const Source& source) {
  if (source.kind == "text" && source.vocabulary < byte_vocabulary) {
    return Error{Errc::invalid,
                 fmt::format("text is trained byte by byte, which needs a vocabulary of at least "
                             "{}; the model has {}",
                             byte_vocabulary, source.vocabulary),
                 fmt::format("set vocab_size to {} in the model's config.json, or give token ids "
                             "with kind = \"tokens\"",
                             byte_vocabulary)};
  }
  if (source.longest < 2) {
    return Error{Errc::invalid,
                 fmt::format("batch.sequence: expected at least 2 tokens, one to predict from and "
                             "one to predict; found {}",
                             source.longest),
                 "write sequence = 256 or more under [batch]"};
  }
  HEADROOM_TRY(const std::vector<std::string> files, list_files(source));
  Samples samples;
  for (const std::string& file : files) {
    const auto text = machine::read_file(file, largest_file);
    if (!text) return unreadable(source, text.error());
    if (source.kind == "tokens") {
      HEADROOM_CHECK(add_token_samples(*text, file, {source.longest, source.vocabulary}, samples));
    } else {
      add_text_samples(*text, source.longest, samples);
    }
  }
  if (samples.empty()) return no_samples(source, files);
  return samples;
}

}  // namespace headroom::trainer::data
