// SPDX-License-Identifier: Apache-2.0
// Files and the record: writing down what was answered, and giving back what a folder cannot hold.
// Everything is noted under its real name, links followed, so that what was read through two links
// is one file; the links are noted on the way (follow_links).
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/text.h"
#include "machine/files.h"
#include "machine/os_error.h"

namespace headroom::machine {
namespace {

const std::string answers_folder = "/.headroom/";

std::string without_slash(std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  return std::string(path);
}

// Texts that captures made by hand use in place of an errno's name.
int number_of(std::string_view reason) {
  const std::string text = to_lower(reason);
  const auto says = [&](const char* word) { return text.find(word) != std::string::npos; };
  return says("perm") || says("denied") || says("eacces") ? EACCES : EIO;
}

}  // namespace

Result<std::string> Files::ask(const std::string& question,
                               const std::function<Result<std::string>()>& live) const {
  const auto refused = manifest_.unanswered.find(question);
  Result<std::string> answer = std::string();
  if (is_real()) {
    answer = live();
  } else if (refused != manifest_.unanswered.end()) {
    answer = refused->second;
  } else {
    return read(answers_folder + question);
  }
  note_answer(question, answer);
  return answer;
}

Result<std::string> Files::derive(const std::string& question,
                                  const std::function<Result<std::string>()>& compute) const {
  if (manifest_.complete) return ask(question, compute);
  Result<std::string> answer = compute();
  note_answer(question, answer);
  return answer;
}

void Files::note_answer(const std::string& question, const Result<std::string>& answer) const {
  if (recording_ == nullptr) return;
  if (answer) {
    recording_->files.emplace(without_slash(answers_folder + question), *answer);
  } else {
    recording_->unanswered.emplace(question, answer.error());
  }
}

std::optional<Files::Refusal> Files::recorded_refusal(std::string_view path) const {
  if (manifest_.refused.empty()) return std::nullopt;
  const std::string name = without_slash(path);
  for (std::size_t end = name.size(); end != std::string::npos && end > 0;
       end = name.rfind('/', end - 1)) {
    const auto known = manifest_.refused.find(name.substr(0, end));
    if (known != manifest_.refused.end()) {
      if (const auto number = errno_number(known->second)) return Refusal{*number, ""};
      if (manifest_.complete) return Refusal{0, known->second};
      return Refusal{number_of(known->second), ""};
    }
    if (manifest_.complete) return std::nullopt;  // Then every refused path is there by itself.
  }
  return std::nullopt;
}

// Recorded under a class link, asked for under the device: both are known.
void Files::add_real_names() {
  if (manifest_.complete) return;  // A record has both names already.
  const auto as_written = manifest_.refused;
  for (const auto& [name, reason] : as_written) {
    const std::size_t slash = name.rfind('/');
    if (slash == std::string::npos) continue;
    const auto folder = follow_links(name.substr(0, slash), true);
    if (folder) manifest_.refused.emplace(*folder + name.substr(slash), reason);
  }
}

Error Files::fail(Refusal refusal, std::string_view doing, std::string_view path) const {
  if (refusal.number == ENOENT || refusal.number == ENOTDIR) {
    if (auto known = recorded_refusal(path)) refusal = *std::move(known);
  }
  note_refusal(path, refusal);
  const std::string what = fmt::format("{} /{}", doing, without_slash(path));
  if (refusal.number != 0) return os_error(refusal.number, what);
  return {Errc::invalid, what + ": " + refusal.sentence, ""};
}

// Not with follow_links alone: in a capture it would take a file that reads like a link for one.
std::optional<std::string> Files::real_name(std::string_view path) const {
  auto name = follow_links(without_slash(path), false);
  if (!name || name->empty()) return std::nullopt;
  const Descriptor last(root_.open_path(*name, O_PATH | O_NOFOLLOW));
  struct stat status {};
  if (last.get() >= 0 && ::fstat(last.get(), &status) == 0 && S_ISLNK(status.st_mode)) {
    name = follow_links(*std::move(name), true);
  }
  return name ? std::optional(*std::move(name)) : std::nullopt;
}

void Files::note_file(std::string_view path, const std::string& text) const {
  if (recording_ == nullptr) return;
  if (const auto name = real_name(path)) recording_->files.emplace(*name, text);
}

void Files::note_entries(std::string_view path, const std::vector<std::string>& names,
                         const std::vector<std::string>& folders) const {
  if (recording_ == nullptr) return;
  const auto folder = real_name(path);
  const std::string start = folder ? *folder + "/" : "";
  for (const std::string& name : names) recording_->stand_ins.insert(start + name);
  for (const std::string& name : folders) recording_->folders.insert(start + name);
}

void Files::note_presence(std::string_view path, int fd) const {
  if (recording_ == nullptr) return;
  struct stat status {};
  const auto name = real_name(path);
  if (!name || ::fstat(fd, &status) != 0) return;
  (S_ISDIR(status.st_mode) ? recording_->folders : recording_->stand_ins).insert(*name);
}

void Files::note_link(std::string_view path) const {
  if (recording_ == nullptr) return;
  const auto name = follow_links(without_slash(path), false);
  const auto target = name ? link_text(*name) : std::nullopt;
  if (target) recording_->links.emplace(*name, *target);
}

void Files::note_links(std::string_view folder, const std::vector<Link>& links) const {
  if (recording_ == nullptr) return;
  const auto name = real_name(folder);
  const std::string start = name ? *name + "/" : "";
  for (const Link& link : links) recording_->links.emplace(start + link.name, link.target);
}

// That something is absent needs no record.
void Files::note_refusal(std::string_view path, const Refusal& refusal) const {
  if (recording_ == nullptr || refusal.number == ENOENT || refusal.number == ENOTDIR) return;
  const std::string reason = refusal.number == 0 ? refusal.sentence : errno_name(refusal.number);
  recording_->refused.emplace(without_slash(path), reason);
  if (const auto name = real_name(path)) recording_->refused.emplace(*name, reason);
}

}  // namespace headroom::machine
