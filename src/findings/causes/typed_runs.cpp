// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/typed_runs.h"

#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "findings/causes/recovery.h"

namespace headroom::findings {
namespace {

using knowledge::Role;
using logs::Observation;
using logs::Observations;

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

// What stands in quotes behind " -c ".
std::optional<std::string_view> command_argument(std::string_view typed) {
  const std::size_t at = typed.find(" -c ");
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view inner = trim(typed.substr(at + 4));
  if (inner.empty()) return std::nullopt;
  if (inner.front() != '\'' && inner.front() != '"') return inner;
  return inner.substr(1, inner.find(inner.front(), 1) - 1);
}

// The parts of a line between `;`, `&&` and `||`, as far as they are not quoted.
std::vector<std::string_view> split_commands(std::string_view line) {
  std::vector<std::string_view> parts;
  char quote = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char one = line[at];
    if (quote != 0) {
      if (one == quote) quote = 0;
    } else if (one == '\'' || one == '"') {
      quote = one;
    } else {
      const bool is_double = line.substr(at, 2) == "&&" || line.substr(at, 2) == "||";
      if (one != ';' && !is_double) continue;
      parts.push_back(line.substr(begin, at - begin));
      begin = at + (is_double ? 2 : 1);
      at = begin - 1;
    }
  }
  parts.push_back(line.substr(begin));
  return parts;
}

bool ends_command(std::string_view word) {
  return word == "|" || word[0] == '#' || word.find('>') != std::string_view::npos;
}

// Programs that run another one behind their own words, and change nothing of what it does.
bool is_wrapper(std::string_view word) {
  constexpr std::string_view wrappers[] = {"time",   "timeout", "env",     "nohup",  "nice",
                                           "exec",   "command", "stdbuf",  "gdb",    "strace",
                                           "ltrace", "numactl", "taskset", "ionice", "catchsegv"};
  return std::find(std::begin(wrappers), std::end(wrappers), word) != std::end(wrappers);
}

// Whether the word is an argument of the wrapper before it: an option, a signal, a time, a mask.
bool is_of_wrapper(std::string_view word) {
  static const RE2 argument(R"(-\S*|\d[\d.,:-]*[smhd]?|0x[0-9a-f]+|(?:SIG)?(?:KILL|TERM|INT|HUP))");
  return RE2::FullMatch(re2::StringPiece(word.data(), word.size()), argument);
}

// Adds one word of a command to what is known of the run.
void take_word(std::string_view word, TypedRun& run) {
  if (word == "-e" || word == "--env") return;
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

void change_shell(std::string_view verb, std::string_view word, ShellSettings& exported) {
  if (verb == "unset") {
    if (const auto found = exported.find(word); found != exported.end()) exported.erase(found);
  } else if (auto assigned = read_assignment(word)) {
    exported.insert_or_assign(assigned->first, assigned->second);
  }
}

// One command without what joins it to others.
TypedRun read_one(std::string_view words, ShellSettings& exported) {
  TypedRun run;
  words = trim(words);
  const bool has_group = words.starts_with("sg ");
  if (const auto inner = command_argument(words);
      inner && (has_group || words.starts_with("bash ") || words.starts_with("sh "))) {
    ShellSettings own = exported;  // What it exports ends with it.
    run = read_command(*inner, own);
    if (has_group) run.settings["sg"];
    return run;
  }
  std::string_view verb;
  bool is_wrapped = false;
  bool unsets = false;  // "env -u NAME".
  std::vector<std::string_view> left_out;
  for (const std::string_view word : split_words(words)) {
    if (ends_command(word)) break;
    if (unsets) {
      left_out.push_back(word);
      unsets = false;
      continue;
    }
    if (is_wrapped && run.program.empty() && (word == "-u" || word == "--unset")) {
      unsets = true;
      continue;
    }
    if (run.program.empty() && verb.empty() && is_wrapper(word)) {
      is_wrapped = true;
      continue;
    }
    if (is_wrapped && run.program.empty() && is_of_wrapper(word)) continue;
    if (verb.empty() && run.program.empty() && (word == "export" || word == "unset")) {
      verb = word;
    } else if (!verb.empty()) {
      change_shell(verb, word, exported);
    } else {
      take_word(word, run);
    }
  }
  // What stands before the command itself counts more than what was exported.
  for (const auto& setting : exported) {
    const bool is_out =
        std::find(left_out.begin(), left_out.end(), setting.first) != left_out.end();
    if (!is_out) run.settings.insert(setting);
  }
  return run;
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

bool reads_like_trouble(const std::string& line) {
  static const RE2 words(
      R"((?i)\b(?:errors?|fail(?:s|ed|ures?)?|cannot|can.t|could not|denied|no such|not|false|)"
      R"(faults?|abort(?:ed)?|killed|terminated|dumped|traceback|unable|unknown|invalid|warn\w*|)"
      R"(usage:|found 0|count: 0|nan|inf)\b|\bcpu\b)");
  return RE2::PartialMatch(line, words);
}

// Whether the command printed something, and nothing that reads like trouble.
bool is_quiet(const Observation& command) {
  bool any = false;
  for (const std::string& line : command.output) {
    const std::string_view shown = trim(line);
    // What follows a blank line, or stands in brackets, may be a person's words.
    if (shown.empty() || shown.front() == '(') break;
    if (reads_like_trouble(line)) return false;
    any = true;
  }
  return any;
}

// Whether a model wrote one sign over and over, as it does where its numbers are wrong.
bool prints_nonsense(const Observation& command) {
  static const RE2 endless(R"([A-Za-z,.:]\s?(?:#{8,}|@{8,}|!{8,}|\?{8,}|/{8,}|G{10,}|0{16,})\s*$)");
  return std::any_of(command.output.begin(), command.output.end(),
                     [](const std::string& line) { return RE2::PartialMatch(line, endless); });
}

// The status that "echo $?" printed below the command.
std::optional<std::uint64_t> exit_status(const Observation& command) {
  static const RE2 status(
      R"((?i)^\s*(?:rc|ret|exit(?:[ _-]?(?:code|status))?|status)?\s*[=:]?\s*(\d{1,3})\s*$)");
  if (command.text.find("$?") == std::string::npos) return std::nullopt;
  for (const std::string& line : command.output) {
    std::uint64_t number = 0;
    if (RE2::FullMatch(line, status, &number)) return number;
  }
  return std::nullopt;
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
  if (const auto status = exit_status(*run.command)) {
    went_on = went_on || *status == 0;
    failed = failed || *status != 0;
    if (*status != 0 && run.failure == nullptr) run.failure = run.command;
  }
  if (!failed && prints_nonsense(*run.command)) {
    failed = true;
    run.failure = run.command;
  }
  run.works = went_on && !failed;
  run.is_quiet = !failed && is_quiet(*run.command);
}

bool reads_a_log(const TypedRun& run) {
  return run.program.starts_with("journalctl") || run.program.starts_with("dmesg") ||
         run.program.starts_with("docker logs") || run.program.starts_with("podman logs");
}

// What a run printed may have gone down with the machine: where nothing came of it, the log that
// was read next tells.
void read_outcome_in_logs(std::vector<TypedRun>& runs) {
  for (std::size_t i = 0; i + 1 < runs.size(); ++i) {
    TypedRun& run = runs[i];
    const bool is_silent = run.failure == nullptr && !run.works && !run.is_quiet;
    const bool is_told = reads_a_log(runs[i + 1]) && runs[i + 1].command->log == run.command->log;
    if (is_silent && is_told && !reads_a_log(run)) run.failure = runs[i + 1].failure;
  }
}

std::vector<const Observation*> commands_of(const Observations& log) {
  std::vector<const Observation*> found;
  for (const Observation& one : log.all()) {
    if (is_command(one)) found.push_back(&one);
  }
  const auto place = [](const Observation* one) { return std::pair(one->log, one->line); };
  // Of one line the one that keeps most of what was printed comes first.
  std::stable_sort(found.begin(), found.end(), [&](const auto* a, const auto* b) {
    if (place(a) != place(b)) return place(a) < place(b);
    return a->output.size() > b->output.size();
  });
  const auto same = [&](const auto* a, const auto* b) { return place(a) == place(b); };
  found.erase(std::unique(found.begin(), found.end(), same), found.end());
  return found;
}

}  // namespace

TypedRun read_command(std::string_view typed, ShellSettings& exported) {
  TypedRun last;
  for (const std::string_view part : split_commands(behind_the_prompt(typed))) {
    TypedRun run = read_one(part, exported);
    // "CMD; echo rc=$?" is a run of CMD.
    const bool only_tells = run.program == "echo" || run.program.starts_with("echo ");
    if (!run.program.empty() && (last.program.empty() || !only_tells)) last = std::move(run);
  }
  return last;
}

std::vector<TypedRun> find_typed_runs(const Observations& log) {
  const std::vector<const Observation*> commands = commands_of(log);
  if (commands.size() < 2 || commands.size() > most_runs) return {};
  std::vector<TypedRun> runs;
  ShellSettings exported;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const bool other_log = i > 0 && commands[i]->log != commands[i - 1]->log;
    if (other_log) exported.clear();
    TypedRun run = read_command(commands[i]->text, exported);
    run.command = commands[i];
    const bool last = i + 1 == commands.size() || commands[i + 1]->log != run.command->log;
    read_outcome(log, last ? ~std::uint64_t{0} : commands[i + 1]->line, run);
    if (!run.program.empty()) runs.push_back(std::move(run));
  }
  read_outcome_in_logs(runs);
  return runs;
}

}  // namespace headroom::findings
