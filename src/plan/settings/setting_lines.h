// SPDX-License-Identifier: Apache-2.0
// Where the settings of a file stand, byte for byte, so that one can be taken out or renamed and
// all the rest stays as somebody wrote it. One reader per syntax; what a reader is not sure of it
// leaves out, and a person is told instead.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/environment.h"

namespace headroom::plan {

// The bytes from `begin` up to `end` of a text, and what stands there instead.
struct Cut {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string with;
};

struct SettingPlace {
  std::string name, value;  // Quotes resolved, nothing expanded.
  int line = 0;             // Of the first line of its statement, from 1.
  bool exported = true;
  facts::Form form = facts::Form::bare;
  std::size_t name_begin = 0;  // Of the name, which is there as it is.
  Cut cut;                     // Takes it out of a statement that goes on without it.
  std::size_t statement = 0;
  std::optional<std::size_t> block;
};

// A line with its continuations, or a command in one.
struct SettingStatement {
  std::size_t line_begin = 0;  // Where a remark can be put in front of it.
  std::size_t members = 0;     // Settings, and anything else it is kept for.
  Cut when_empty;              // In place of the cuts of its members, where all of them go.
  bool shows_itself = false;   // when_empty keeps the old text as a comment.
};

// A list that may not become empty as it is: compose's "environment:".
struct SettingBlock {
  std::size_t members = 0;
  Cut when_empty;  // Beside the cuts of its members.
};

struct SettingLines {
  std::vector<SettingPlace> places;
  std::vector<SettingStatement> statements;
  std::vector<SettingBlock> blocks;
};

enum class SettingSyntax {
  shell,           // sh, bash, zsh: .bashrc, /etc/profile.d
  fish,            // config.fish
  fish_universal,  // fish_variables: fish alone writes it.
  assignments,     // NAME=VALUE: /etc/environment, environment.d, .env, EnvironmentFile=
  pam,             // NAME DEFAULT=VALUE: pam_env.conf(5)
  unit,            // systemd's units, drop-ins and system.conf
  quadlet,         // podman's NAME.container and its drop-ins
  compose,
  dockerfile,
};
// By the path alone; what it does not know is taken for assignments.
SettingSyntax syntax_of(std::string_view path);
facts::Scope scope_of(std::string_view path);

// In the order of the text. Never fails.
SettingLines find_setting_lines(SettingSyntax syntax, std::string_view text);

// The readers behind it.
SettingLines find_in_shell(std::string_view text, bool fish);
SettingLines find_in_assignments(std::string_view text);
SettingLines find_in_pam(std::string_view text);
SettingLines find_in_unit(std::string_view text);
SettingLines find_in_compose(std::string_view text);

enum class Rewrite { keep, take_out, rename };
struct PlaceRewrite {
  Rewrite what = Rewrite::keep;
  std::string name;  // The new one, of rename.
};
// The text with one rewrite per place carried out. What is taken out stays as a comment, or is
// named in one above its line.
std::string rewrite(std::string_view text, const SettingLines& lines,
                    const std::vector<PlaceRewrite>& rewrites);

// What begins the comments that rewrite() leaves: "# headroom: taken out".
std::string_view taken_out_mark();

}  // namespace headroom::plan
