// SPDX-License-Identifier: Apache-2.0
#include "knowledge/trainer_flags.h"

#include <algorithm>
#include <set>

#include "base/document.h"
#include "base/document_reader.h"
#include "knowledge/embedded.h"

namespace headroom::knowledge {
namespace {

using Words = std::vector<std::string>;

bool contains(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// --- reading the table

void read_append(TableReader& row, Trainer& trainer) {
  Words append;
  row.read("append", append);
  for (const std::string& which : append) {
    if (which == "micro") {
      trainer.appends_micro = true;
    } else if (which == "accumulate" && !trainer.accumulate.empty()) {
      trainer.appends_accumulate = true;
    } else {
      row.wrong("append", "\"micro\" or, with names of it, \"accumulate\"");
    }
  }
}

std::optional<std::uint64_t> read_default(TableReader& defaults, std::string_view key) {
  if (!defaults.has(key)) return std::nullopt;
  return defaults.number(key, {.min = 1});
}

Trainer read_trainer(TableReader& row) {
  Trainer trainer;
  trainer.id = row.text("id");
  trainer.name = row.text("name");
  row.read("programs", trainer.programs);
  row.read("verbs", trainer.verbs);
  row.read("known_by", trainer.known_by);
  row.read("file_ends", trainer.file_ends);
  row.read("micro", trainer.micro);
  row.read("accumulate", trainer.accumulate);
  row.read("resume", trainer.resume);
  read_append(row, trainer);
  TableReader defaults = row.optional_table("defaults");
  trainer.default_micro = read_default(defaults, "micro");
  trainer.default_accumulate = read_default(defaults, "accumulate");
  defaults.refuse_unknown();
  row.read("resume_with", trainer.resume_with);
  trainer.shrink =
      row.word<Shrink>("shrink", {{"divisor", Shrink::divisor}, {"half", Shrink::half}});
  trainer.unit = row.text("unit");
  trainer.origin = read_origin(row);
  row.refuse_unknown();
  if (trainer.micro.empty()) row.wrong("micro", "at least one name");
  if (trainer.programs.empty() && trainer.known_by.empty()) {
    row.wrong("known_by", "at least one name, where no program is named");
  }
  for (const std::string& name : trainer.known_by) {
    if (contains(trainer.micro, name) || contains(trainer.accumulate, name)) continue;
    row.wrong("known_by", "only names of micro and accumulate");
  }
  return trainer;
}

// --- recognising a command

std::string_view file_name(std::string_view word) {
  const std::size_t slash = word.rfind('/');
  return slash == std::string_view::npos ? word : word.substr(slash + 1);
}

bool ends_with(std::string_view word, std::string_view end) {
  return word.size() > end.size() && word.substr(word.size() - end.size()) == end;
}

// The first word that is an argument of the script which a launcher launches; behind the launcher
// itself if no script is seen. 1 without a launcher.
std::size_t behind_launcher(const TrainerFlags& flags, const Words& argv) {
  for (std::size_t i = 0; i < argv.size(); ++i) {
    if (!contains(flags.launchers, file_name(argv[i]))) continue;
    for (std::size_t script = i + 1; script < argv.size(); ++script) {
      if (ends_with(argv[script], ".py")) return script + 1;
      const bool module = argv[script] == "-m" || argv[script] == "--module";
      if (module && script + 1 < argv.size()) return script + 2;
    }
    return i + 1;
  }
  return 1;
}

// The first word behind the program; nothing if no word is one of the row's programs.
std::optional<std::size_t> behind_program(const Trainer& trainer, const Words& argv) {
  for (std::size_t i = 0; i < argv.size(); ++i) {
    if (contains(trainer.programs, file_name(argv[i]))) return i + 1;
  }
  return std::nullopt;
}

std::optional<std::string> find_file(const Trainer& trainer, const Words& argv, std::size_t from) {
  for (std::size_t i = from; i < argv.size(); ++i) {
    // "--config=recipe.yaml" names one as well, "key=other.yaml" sets a key.
    const std::size_t equals = argv[i].find('=');
    const bool option = !argv[i].empty() && argv[i][0] == '-';
    if (equals != std::string::npos && !option) continue;
    const std::string name = equals == std::string::npos ? argv[i] : argv[i].substr(equals + 1);
    for (const std::string& end : trainer.file_ends) {
      if (ends_with(name, end)) return name;
    }
  }
  return std::nullopt;
}

std::optional<RecognisedCommand> recognise_as(const Trainer& trainer, const Words& argv,
                                              std::size_t arguments) {
  RecognisedCommand command{&trainer, arguments, std::nullopt};
  if (!trainer.programs.empty()) {
    const auto behind = behind_program(trainer, argv);
    if (!behind) return std::nullopt;
    command.arguments = *behind;
  }
  if (!trainer.verbs.empty()) {
    const Words behind(argv.begin() + static_cast<std::ptrdiff_t>(command.arguments), argv.end());
    const bool has_verb = std::any_of(behind.begin(), behind.end(), [&](const auto& word) {
      return contains(trainer.verbs, word);
    });
    if (!has_verb) return std::nullopt;
  }
  if (!trainer.known_by.empty() && !has_flag(argv, command.arguments, trainer.known_by)) {
    return std::nullopt;
  }
  command.file = find_file(trainer, argv, command.arguments);
  if (!trainer.file_ends.empty() && !command.file) return std::nullopt;
  return command;
}

bool is_option(std::string_view name) {
  return !name.empty() && name[0] == '-';
}

// Whether the word is "name=…".
bool sets(std::string_view word, std::string_view name) {
  return word.size() > name.size() && word.substr(0, name.size()) == name &&
         word[name.size()] == '=';
}

}  // namespace

Result<TrainerFlags> parse_trainer_flags(std::string_view text) {
  HEADROOM_TRY(const Document document, parse_toml(text));
  DocumentReader reader(document, {.file = "data/trainers.toml"});
  TableReader root = reader.root();
  TrainerFlags flags;
  root.read("launchers", flags.launchers);
  std::set<std::string> ids;
  for (TableReader& row : root.rows("trainer")) {
    flags.trainers.push_back(read_trainer(row));
    if (!ids.insert(flags.trainers.back().id).second) {
      row.wrong("id", "an id that no other row has");
    }
  }
  root.refuse_unknown();
  HEADROOM_CHECK(reader.finish());
  return flags;
}

Result<TrainerFlags> load_trainer_flags() {
  return parse_trainer_flags(embedded("trainers"));
}

std::optional<RecognisedCommand> recognise(const TrainerFlags& flags, const Words& argv) {
  if (argv.empty()) return std::nullopt;
  const std::size_t arguments = behind_launcher(flags, argv);
  for (const Trainer& trainer : flags.trainers) {
    if (auto command = recognise_as(trainer, argv, arguments)) return command;
  }
  return std::nullopt;
}

std::optional<FlagPlace> find_flag(const Words& words, std::size_t from, const Words& names) {
  for (std::size_t i = words.size(); i-- > from;) {
    for (const std::string& name : names) {
      if (sets(words[i], name)) return FlagPlace{i, name.size() + 1};
      if (is_option(name) && words[i] == name && i + 1 < words.size()) return FlagPlace{i + 1, 0};
    }
  }
  return std::nullopt;
}

bool has_flag(const Words& words, std::size_t from, const Words& names) {
  for (std::size_t i = from; i < words.size(); ++i) {
    for (const std::string& name : names) {
      if (sets(words[i], name) || (is_option(name) && words[i] == name)) return true;
    }
  }
  return false;
}

Words flag_words(const std::string& name, const std::string& value) {
  if (is_option(name)) return {name, value};
  return {name + "=" + value};
}

std::string file_key(std::string_view name) {
  while (is_option(name)) name.remove_prefix(1);
  std::string key(name);
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

}  // namespace headroom::knowledge
