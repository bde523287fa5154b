// SPDX-License-Identifier: Apache-2.0
#include "plan/boot/grub_defaults.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "plan/boot/command_line_words.h"
#include "plan/boot/shell_assignments.h"
#include "plan/boot/trial_boot.h"

namespace headroom::plan {
namespace {

constexpr std::string_view defaults_path = "/etc/default/grub";
constexpr std::string_view every_entry = "GRUB_CMDLINE_LINUX";
constexpr std::string_view usual_entries = "GRUB_CMDLINE_LINUX_DEFAULT";

// One assignment that has a say in the final value.
struct Piece {
  std::size_t file = 0;
  Assignment at;
  bool builds_on_before = false;
};

struct Variable {
  std::string_view name;
  std::vector<Piece> pieces;
};

// Debian's and Ubuntu's grub-mkconfig read grub.d/*.cfg after the main file; upstream's does not.
bool reads_folder(const BootSubject& subject) {
  if (*subject.boot.command_line == facts::CommandLineTool::update_grub) return true;
  if (!subject.machine.distribution_id) return false;
  const auto words = split_words(*subject.machine.distribution_id);
  return std::any_of(words.begin(), words.end(),
                     [](auto word) { return word == "debian" || word == "ubuntu"; });
}

// In the order in which they are sourced.
std::vector<facts::ConfigFile> sourced_files(const BootSubject& subject) {
  std::vector<facts::ConfigFile> files;
  std::vector<facts::ConfigFile> more;
  if (const auto* main = subject.boot.file(defaults_path)) files.push_back(*main);
  for (const facts::ConfigFile& file : subject.boot.files) {
    if (file.path.starts_with("/etc/default/grub.d/") && file.path.ends_with(".cfg")) {
      more.push_back(file);
    }
  }
  std::sort(more.begin(), more.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  if (reads_folder(subject)) files.insert(files.end(), more.begin(), more.end());
  return files;
}

// What counts of a variable: from the last assignment that replaces it without condition.
Variable find_variable(const std::vector<facts::ConfigFile>& files, std::string_view name) {
  Variable variable{name, {}};
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (const Assignment& at : find_assignments(files[i].text)) {
      if (at.name != name) continue;
      const auto raw = std::string_view(files[i].text).substr(at.begin, at.end - at.begin);
      const bool builds = at.appends || uses_itself(raw, name);
      if (!builds && !at.conditional) variable.pieces.clear();
      variable.pieces.push_back({i, at, builds});
    }
  }
  return variable;
}

class Editor {
 public:
  Editor(std::vector<facts::ConfigFile> files, const ArgumentChange& change)
      : files_(std::move(files)), change_(change) {}

  Result<std::vector<facts::ConfigFile>> edit() {
    const Variable every = find_variable(files_, every_entry);
    const Variable usual = find_variable(files_, usual_entries);
    ArgumentChange in_every{{}, change_.drop};
    ArgumentChange in_usual{{}, change_.drop};
    for (const std::string& word : change_.set) {
      const bool stays = holds(every, word) && !holds(usual, word);
      (stays ? in_every : in_usual).set.push_back(word);
      (stays ? in_usual : in_every).drop.push_back(argument_name(word));
    }
    HEADROOM_CHECK(edit_variable(every, in_every));
    // Places have moved.
    HEADROOM_CHECK(edit_variable(find_variable(files_, usual_entries), in_usual));
    return std::move(files_);
  }

 private:
  std::string_view raw(const Piece& piece) const {
    return std::string_view(files_[piece.file].text)
        .substr(piece.at.begin, piece.at.end - piece.at.begin);
  }

  bool holds(const Piece& piece, std::string_view word) const {
    return !find_arguments(unquote_value(raw(piece)), argument_name(word)).empty();
  }

  bool holds(const Variable& variable, std::string_view word) const {
    return std::any_of(variable.pieces.begin(), variable.pieces.end(),
                       [&](const Piece& piece) { return holds(piece, word); });
  }

  // The piece that a new word goes to: the last one that always counts and that no later one may
  // replace; pieces.size() where there is none.
  static std::size_t find_home(const Variable& variable) {
    std::size_t home = variable.pieces.size();
    for (std::size_t i = 0; i < variable.pieces.size(); ++i) {
      const Piece& piece = variable.pieces[i];
      if (!piece.at.conditional) home = i;
      if (piece.at.conditional && !piece.builds_on_before) home = variable.pieces.size();
    }
    return home;
  }

  Status edit_variable(const Variable& variable, const ArgumentChange& change) {
    const std::size_t count = variable.pieces.size();
    std::vector<ArgumentChange> edits(count, ArgumentChange{{}, change.drop});
    std::vector<std::string> new_words;
    for (const std::string& word : change.set) {
      std::size_t home = find_home(variable);
      for (std::size_t i = 0; i < count; ++i) {
        // An unconditional place that has it already stays its place.
        if (holds(variable.pieces[i], word) && !variable.pieces[i].at.conditional) home = i;
      }
      for (std::size_t i = 0; i < count; ++i) {
        if (i == home) {
          edits[i].set.push_back(word);
        } else {
          edits[i].drop.push_back(argument_name(word));
        }
      }
      if (home == count) new_words.push_back(word);
    }
    for (std::size_t i = count; i-- > 0;) {  // From the end, so that places stay right.
      HEADROOM_CHECK(edit_piece(variable.pieces[i], edits[i]));
    }
    if (!new_words.empty()) append_line(variable, new_words);
    return Done{};
  }

  Status edit_piece(const Piece& piece, const ArgumentChange& change) {
    facts::ConfigFile& file = files_[piece.file];
    const auto edited = edit_value(raw(piece), change);
    if (!edited) {
      const std::string_view above = std::string_view(file.text).substr(0, piece.at.begin);
      const auto line = std::count(above.begin(), above.end(), '\n') + 1;
      return Error{Errc::unsupported,
                   fmt::format("expected a value of {} that can be edited word by word; found {} "
                               "in {}, line {}",
                               piece.at.name, raw(piece), file.path, line),
                   fmt::format("edit that line by hand ({})", describe(change))};
    }
    file.text.replace(piece.at.begin, piece.at.end - piece.at.begin, *edited);
    return Done{};
  }

  void append_line(const Variable& variable, const std::vector<std::string>& words) {
    facts::ConfigFile& file = files_[variable.pieces.empty() ? 0 : variable.pieces.back().file];
    if (!file.text.empty() && !file.text.ends_with('\n')) file.text += '\n';
    const std::string value = quote_value(join(words, " "));
    file.text += variable.pieces.empty()
                     ? fmt::format("{}={}\n", variable.name, value)
                     : fmt::format("{}=\"${} {}\n", variable.name, variable.name, value.substr(1));
  }

  std::vector<facts::ConfigFile> files_;
  const ArgumentChange& change_;
};

// Whether grub.cfg has the name in the part that 10_linux makes, and nowhere else: entries of other
// systems and a person's own keep their words.
bool only_in_linux_entries(std::string_view config, std::string_view name) {
  bool in_linux = false;
  for (const std::string_view line : split_lines(config)) {
    if (line.starts_with("### BEGIN ")) in_linux = line.find("_linux") != std::string_view::npos;
    if (line.starts_with("### END ")) in_linux = false;
    if (!in_linux && !find_arguments(line, name).empty()) return false;
  }
  return true;
}

bool config_agrees(const facts::ConfigFile* config, const ArgumentChange& change) {
  if (config == nullptr) return false;
  return std::all_of(change.set.begin(), change.set.end(), [&](const auto& word) {
    return config->text.find(word) != std::string::npos;
  });
}

std::string config_path(const facts::BootSetup& boot) {
  return boot.grub_config.empty() ? "/boot/grub/grub.cfg" : boot.grub_config;
}

Step make_config_step(const facts::BootSetup& boot, const ArgumentChange& change) {
  Command command;
  command.argv = grub_config_command(boot);
  command.generates = {config_path(boot)};
  command.undo = command.argv;
  command.undo_run = UndoRun::if_changed;
  Step step{StepKind::kernel_argument, "Regenerate " + config_path(boot), "", command, {}, true};
  step.why = "GRUB reads the command line from there.";
  for (const std::string& word : change.set) {
    step.expects.push_back({Expectation::Kind::file_contains, config_path(boot), word});
  }
  const auto* config = boot.file(config_path(boot));
  for (const std::string& name : change.drop) {
    if (config == nullptr || !only_in_linux_entries(config->text, name)) continue;
    step.expects.push_back({Expectation::Kind::file_lacks, config_path(boot), name + "="});
  }
  return step;
}

}  // namespace

std::vector<std::string> grub_config_command(const facts::BootSetup& boot) {
  if (*boot.command_line == facts::CommandLineTool::update_grub) return {"update-grub"};
  const bool second = boot.has("grub2-mkconfig") || boot.grub_config.starts_with("/boot/grub2/");
  return {second ? "grub2-mkconfig" : "grub-mkconfig", "-o", config_path(boot)};
}

Result<std::vector<Step>> plan_grub_defaults(const BootSubject& subject,
                                             const ArgumentChange& change) {
  const std::vector<facts::ConfigFile> before = sourced_files(subject);
  if (subject.boot.file(defaults_path) == nullptr) {
    return Error{Errc::unsupported,
                 fmt::format("expected {}, from which {} generates the boot menu; it does not "
                             "exist, or could not be read",
                             defaults_path, grub_config_command(subject.boot)[0]),
                 "run it with sudo; without that file, " + describe(change) +
                     " on the kernel command line by hand"};
  }
  HEADROOM_TRY(const std::vector<facts::ConfigFile> after, Editor(before, change).edit());
  std::vector<Step> steps;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (after[i].text == before[i].text) continue;
    Step step{StepKind::kernel_argument,
              "Edit the kernel command line in " + before[i].path,
              "",
              FileEdit{before[i].path, before[i].text, after[i].text, std::nullopt},
              {},
              true};
    if (i > 0) step.why = fmt::format("It is read after {} and overrides it.", defaults_path);
    steps.push_back(std::move(step));
  }
  const auto* config = subject.boot.file(config_path(subject.boot));
  if (steps.empty() && config_agrees(config, change)) return steps;
  steps.push_back(make_config_step(subject.boot, change));
  return steps;
}

std::optional<std::string> grub_default_words(const BootSubject& subject) {
  if (subject.boot.file(defaults_path) == nullptr) return std::nullopt;
  const std::vector<facts::ConfigFile> files = sourced_files(subject);
  std::string words;
  for (const std::string_view name : {every_entry, usual_entries}) {
    for (const Piece& piece : find_variable(files, name).pieces) {
      const std::string_view text = files[piece.file].text;
      words += " " + unquote_value(text.substr(piece.at.begin, piece.at.end - piece.at.begin));
    }
  }
  return words;
}

Result<BootSteps> plan_by_grub(const BootSubject& subject, const ArgumentChange& change) {
  HEADROOM_TRY(std::vector<Step> steps, plan_grub_defaults(subject, change));
  if (steps.empty()) return BootSteps{};
  return with_grub_trial(subject, change, std::move(steps));
}

}  // namespace headroom::plan
