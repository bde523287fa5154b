// SPDX-License-Identifier: Apache-2.0
// A program's command line as a value: commands, options, what may stand behind them, and the help
// texts. Help, man pages and completions are all made from it, so that none of them can leave out
// an option that the parser takes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace headroom::command_line {

enum class ValueKind : std::uint8_t {
  none,   // Nothing: the option is a flag.
  words,  // One of `Value::words`; where `is_open`, other text as well.
  file,   // A file, or a file or folder.
  folder,
  text,  // Something that no shell can guess.
};

// What stands behind an option, or in an argument's place. The type name of CLI11 says it: what is
// written in small letters is typed as it is ("on|off"), capitals name what is meant ("DIR").
struct Value {
  std::string name;  // As people read it: "FILE", "SIZE|auto|off".
  ValueKind kind = ValueKind::none;
  std::vector<std::string> words;
  bool is_open = false;
};

struct Option {
  std::vector<std::string> names;  // With their dashes, the short ones first.
  Value value;
  std::string help;
  std::string group;  // The heading that it stands under.
  bool repeats = false;
};

// The type name of an argument that is another program's command line, behind "--".
inline constexpr const char* command_place = "COMMAND";

struct Argument {
  std::string name;  // In capitals.
  Value value;
  std::string help;
  bool is_required = false;
  bool repeats = false;
};

struct Example {
  std::string command;
  std::string meaning;
};

struct Command {
  std::string name;   // As it is typed: "headroom", "headroom check".
  std::string about;  // One sentence, without its full stop.
  std::vector<Argument> arguments;
  std::vector<Option> options;  // In the order of their groups.
  std::vector<std::string> notes;
  std::string exit_codes;
  std::vector<Example> examples;
  bool runs_command = false;  // It has an argument whose type name is `command_place`.
  std::vector<Command> commands;
};

// Words that may stand where a capital name stands: {"TOPIC", {"memory", "ladder"}}.
using KnownWords = std::map<std::string, std::vector<std::string>, std::less<>>;

// Leaves out what is hidden: options and commands whose group is empty. Of a footer, the paragraph
// that begins with "Exit:" is `exit_codes`, the lines below "Examples:" are `examples`, a command
// and its meaning with two blanks or more between them, and the rest are `notes`.
Command describe(const CLI::App& app, const KnownWords& known = {});

}  // namespace headroom::command_line
