// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/control_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "findings/causes/contradiction.h"
#include "findings/causes/recovery.h"

namespace headroom::findings {
namespace {

using knowledge::Role;
using logs::Observation;
using logs::Observations;
using Settings = std::map<std::string, std::string, std::less<>>;

// A cause that a setting brings about, or that it works around.
struct Suspect {
  std::string_view setting;
  std::string_view cause;
  bool when_set;  // Whether the cause needs the setting, or its absence.
};

constexpr Suspect suspects[] = {
    {"HSA_OVERRIDE_GFX_VERSION", "gfx-override-wrong", true},
    {"HIP_VISIBLE_DEVICES", "device-index", true},
    {"ROCR_VISIBLE_DEVICES", "device-index", true},
    {"CUDA_VISIBLE_DEVICES", "device-index", true},
    {"HIP_VISIBLE_DEVICES", "igpu-selected", false},
    {"ROCR_VISIBLE_DEVICES", "igpu-selected", false},
    {"PYTORCH_ALLOC_CONF", "unsupported-option", true},
    {"PYTORCH_HIP_ALLOC_CONF", "unsupported-option", true},
    {"PYTORCH_CUDA_ALLOC_CONF", "unsupported-option", true},
    {"NCCL_P2P_DISABLE", "rccl-p2p", false},
    {"sudo", "device-permission", false},
    // A build for CUDA sees no GPU whichever group asks.
    {"sg", "wrong-wheel", true},
};

// More commands than this are a shell's history, and comparing all pairs of them tells nothing.
constexpr std::size_t most_runs = 64;

std::string_view behind_the_prompt(std::string_view typed) {
  std::size_t first = std::string_view::npos;
  for (const std::string_view mark : {"$ ", "# ", "% ", "> "}) {
    first = std::min(first, typed.find(mark));
  }
  return first == std::string_view::npos ? typed : typed.substr(first + 2);
}

// "NAME=value" as shells and `docker run -e` take it.
std::optional<std::pair<std::string, std::string>> read_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) return std::nullopt;
  const std::string_view name = word.substr(0, equals);
  const bool fits = std::all_of(name.begin(), name.end(), [](char one) {
    return (one >= 'A' && one <= 'Z') || (one >= '0' && one <= '9') || one == '_';
  });
  if (!fits || (name[0] >= '0' && name[0] <= '9')) return std::nullopt;
  return std::pair(std::string(name), std::string(word.substr(equals + 1)));
}

// The command within `sg GROUP -c 'COMMAND'`, which runs it with a group that the shell lacks.
std::optional<std::string_view> run_with_group(std::string_view typed) {
  if (!typed.starts_with("sg ")) return std::nullopt;
  const std::size_t at = typed.find(" -c ");
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view inner = trim(typed.substr(at + 4));
  const bool is_quoted = inner.size() >= 2 && inner.front() == inner.back() &&
                         (inner.front() == '\'' || inner.front() == '"');
  return is_quoted ? inner.substr(1, inner.size() - 2) : inner;
}

bool ends_command(std::string_view word) {
  return word == "|" || word == "&&" || word == ";" || word[0] == '#' ||
         word.find('>') != std::string_view::npos;
}

// Adds one word of a command to what is known of the run.
void take_word(std::string_view word, TypedRun& run) {
  if (word == "time" || word == "env" || word == "-e" || word == "--env") return;
  if (word == "sudo") {
    run.settings["sudo"];
  } else if (auto assigned = read_assignment(word)) {
    run.settings.insert_or_assign(assigned->first, assigned->second);
  } else if (word[0] == '-') {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view value = word.substr(std::min(equals + 1, word.size()));
    run.settings.insert_or_assign(std::string(word.substr(0, equals)), std::string(value));
  } else {
    if (!run.program.empty()) run.program += ' ';
    run.program += word;
  }
}

void change_shell(std::string_view verb, std::string_view word, Settings& exported) {
  if (verb == "unset") {
    if (const auto found = exported.find(word); found != exported.end()) exported.erase(found);
  } else if (auto assigned = read_assignment(word)) {
    exported.insert_or_assign(assigned->first, assigned->second);
  }
}

// Whether the failure tells its kind, so that two of them can be called the same.
bool tells_its_kind(const Observation& failure) {
  return !is_vague(failure) && failure.id() != "traceback" && failure.id() != "python-exception";
}

bool is_between(const Observation& one, const Observation& command, std::uint64_t end) {
  return one.log == command.log && one.line > command.line && one.line < end;
}

// What was printed where a command asks PyTorch whether it has a GPU; empty if it asks nothing.
std::string_view answer_to(const Observations& log, const Observation& command) {
  for (const Observation* asked : log.of("availability-asked")) {
    if (asked->log != command.log || asked->line != command.line || asked->output.empty()) continue;
    return trim(asked->output.front());
  }
  return {};
}

// Fills in what came of a run, of which the lines before `end` tell.
void read_outcome(const Observations& log, std::uint64_t end, TypedRun& run) {
  const std::string_view answer = answer_to(log, *run.command);
  bool failed = answer == "False", went_on = answer == "True";
  if (failed) run.failure = run.command;
  for (const Observation& one : log.all()) {
    if (!is_between(one, *run.command, end)) continue;
    if (is_failure(log, one)) {
      failed = true;
      const bool earlier = run.failure == nullptr || one.line < run.failure->line;
      if (earlier && tells_its_kind(one)) run.failure = &one;
    }
    went_on = went_on || one.signature->role == Role::progress;
  }
  run.works = went_on && !failed;
}

std::vector<const Observation*> commands_of(const Observations& log) {
  std::vector<const Observation*> found;
  for (const Observation& one : log.all()) {
    if (is_command(one)) found.push_back(&one);
  }
  const auto place = [](const Observation* one) { return std::pair(one->log, one->line); };
  std::stable_sort(found.begin(), found.end(),
                   [&](const auto* a, const auto* b) { return place(a) < place(b); });
  const auto same = [&](const auto* a, const auto* b) { return place(a) == place(b); };
  found.erase(std::unique(found.begin(), found.end(), same), found.end());
  return found;
}

std::vector<TypedRun> find_runs(const Observations& log) {
  const std::vector<const Observation*> commands = commands_of(log);
  if (commands.size() < 2 || commands.size() > most_runs) return {};
  std::vector<TypedRun> runs;
  Settings exported;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const bool other_log = i > 0 && commands[i]->log != commands[i - 1]->log;
    if (other_log) exported.clear();
    TypedRun run = read_command(commands[i]->text, exported);
    run.command = commands[i];
    const bool last = i + 1 == commands.size() || commands[i + 1]->log != run.command->log;
    read_outcome(log, last ? ~std::uint64_t{0} : commands[i + 1]->line, run);
    if (!run.program.empty()) runs.push_back(std::move(run));
  }
  return runs;
}

// The one setting that only `with` has; nothing if they differ otherwise.
std::optional<std::string> only_difference(const TypedRun& with, const TypedRun& without) {
  if (with.program != without.program) return std::nullopt;
  if (with.settings.size() != without.settings.size() + 1) return std::nullopt;
  std::optional<std::string> only;
  for (const auto& [name, value] : with.settings) {
    const auto found = without.settings.find(name);
    if (found != without.settings.end() && found->second == value) continue;
    if (found != without.settings.end() || only) return std::nullopt;
    only = name;
  }
  return only;
}

std::string name_lines(const ControlRun& run) {
  const Observation& with = *run.with.command;
  const Observation& without = *run.without.command;
  return fmt::format("{}:{} and {}:{}", with.log_name, with.line, without.log_name, without.line);
}

// The command that speaks against the cause, and what it says of the other one.
Evidence show_run(const TypedRun& run, std::string meaning) {
  const Observation& typed = *run.command;
  return {typed.log_name, static_cast<int>(typed.line), typed.text, std::move(meaning)};
}

void raise_by(const ControlRun& run, bool works_with, Hypothesis& hypothesis) {
  constexpr double doubt_that_stays = 0.5;
  hypothesis.confidence = 1 - (1 - hypothesis.confidence) * doubt_that_stays;
  hypothesis.reasons.push_back(fmt::format("The same command works {} {} and fails {} it ({}).",
                                           works_with ? "with" : "without", run.setting,
                                           works_with ? "without" : "with", name_lines(run)));
}

}  // namespace

TypedRun read_command(std::string_view typed, Settings& exported) {
  TypedRun run;
  std::string_view verb;
  std::string_view words = behind_the_prompt(typed);
  if (const auto inner = run_with_group(words)) {
    run.settings["sg"];
    words = *inner;
  }
  for (const std::string_view word : split_words(words)) {
    if (ends_command(word)) break;
    if (verb.empty() && run.program.empty() && (word == "export" || word == "unset")) {
      verb = word;
    } else if (!verb.empty()) {
      change_shell(verb, word, exported);
    } else {
      take_word(word, run);
    }
  }
  // What stands before the command itself counts more than what was exported.
  run.settings.insert(exported.begin(), exported.end());
  return run;
}

std::vector<ControlRun> find_control_runs(const Observations& log) {
  std::vector<ControlRun> found;
  const std::vector<TypedRun> runs = find_runs(log);
  for (const TypedRun& with : runs) {
    for (const TypedRun& without : runs) {
      const auto setting = only_difference(with, without);
      if (!setting) continue;
      const bool both_fail = with.failure != nullptr && without.failure != nullptr;
      const bool same = both_fail && with.failure->id() == without.failure->id();
      const bool one_works =
          (with.works && without.failure != nullptr) || (without.works && with.failure != nullptr);
      if (same || one_works) found.push_back({*setting, with, without, same});
    }
  }
  return found;
}

void weigh_control_runs(const std::vector<ControlRun>& runs, std::string_view cause,
                        Hypothesis& hypothesis) {
  constexpr double keeps = 0.3;
  for (const ControlRun& run : runs) {
    for (const Suspect& one : suspects) {
      if (one.setting != run.setting || one.cause != cause) continue;
      const bool works_as_suspected = one.when_set ? run.without.works : run.with.works;
      if (run.same_failure) {
        speak_against(hypothesis, keeps,
                      show_run(one.when_set ? run.without : run.with,
                               fmt::format("the same failure comes with {0} and without it ({1})",
                                           run.setting, name_lines(run))));
      } else if (works_as_suspected) {
        raise_by(run, !one.when_set, hypothesis);
      } else {
        speak_against(
            hypothesis, keeps,
            show_run(one.when_set ? run.with : run.without,
                     fmt::format("the same command works {} {} ({})",
                                 one.when_set ? "with" : "without", run.setting, name_lines(run))));
      }
      return;
    }
  }
}

}  // namespace headroom::findings
