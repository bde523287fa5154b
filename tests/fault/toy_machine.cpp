// SPDX-License-Identifier: Apache-2.0
#include "fault/toy_machine.h"

#include <fstream>

namespace headroom::testing {

using plan::Command;
using plan::Expectation;
using plan::FileEdit;
using plan::LinkEdit;
using plan::Step;
using plan::StepKind;
using plan::UndoRun;

namespace {

constexpr auto defaults = "# defaults\nARGS=\"quiet\"\n";
constexpr auto new_defaults = "# defaults\nARGS=\"quiet pages=7\"\n";
constexpr auto kept_defaults = "# defaults\nARGS=\"quiet pages=7\"\nKEPT=1\n";

Step edit(StepKind kind, FileEdit file) {
  return {kind, "edit " + file.path, "", std::move(file), {}, true};
}

Step make_menu_step() {
  return {StepKind::kernel_argument,
          "make the menu",
          "",
          Command{{"make-menu"}, {}, {"/boot/menu.cfg"}, {"make-menu"}, UndoRun::if_changed},
          {{Expectation::Kind::file_contains, "/boot/menu.cfg", "pages=7"}},
          true};
}

}  // namespace

void fill_toy_machine(const ScratchRoot& root) {
  root.write("/etc/default/toy", defaults, 0640);
  root.write("/etc/modprobe.d/old.conf", "options toy size=3\n", 0644);
  root.write("/boot/menu.cfg", "menu: quiet\n", 0600);
  root.write("/boot/entries/one.conf", "title one\noptions quiet\n", 0644);
  root.write("/boot/entries/two.conf", "title two\noptions quiet\n", 0600);
  root.write("/usr/lib/a.so.1", "a", 0755);
  root.link("/usr/lib/changed.so", "a.so.0");
}

plan::Change toy_change() {
  plan::Change change;
  change.fix = "toy";
  change.title = "Change everything";
  change.words = {"headroom", "fix", "toy"};
  change.needs_reboot = true;
  change.steps = {
      edit(StepKind::module_option,
           {"/etc/modprobe.d/new.d/deep/toy.conf", std::nullopt, "options toy size=7\n", 0600}),
      edit(StepKind::write_file, {"/etc/default/toy", defaults, new_defaults, {}}),
      edit(StepKind::write_file,
           {"/etc/modprobe.d/old.conf", "options toy size=3\n", std::nullopt, {}}),
      {StepKind::link, "new link", "", LinkEdit{"/usr/lib/a.so", std::nullopt, "a.so.1"}, {}, true},
      {StepKind::link, "link", "", LinkEdit{"/usr/lib/changed.so", "a.so.0", "a.so.1"}, {}, true},
      {StepKind::kernel_argument,
       "edit the entries",
       "",
       Command{{"edit-entries", "pages=7"}, {"/boot/entries/*.conf"}, {}, {}, UndoRun::never},
       {{Expectation::Kind::file_contains, "/boot/entries/*.conf", "pages=7"}},
       true},
      make_menu_step(),
  };
  change.on_confirm = {
      edit(StepKind::write_file, {"/etc/default/toy", new_defaults, kept_defaults, {}}),
      edit(StepKind::write_file,
           {"/etc/modprobe.d/new.d/deep/toy.conf", "options toy size=7\n", std::nullopt, {}}),
      make_menu_step(),
  };
  return change;
}

bool ToyPrograms::has(std::string_view name) const {
  return name == "edit-entries" || name == "make-menu";
}

Result<machine::ProgramOutput> ToyPrograms::run(const std::vector<std::string>& argv) {
  const Status done = argv.front() == "make-menu" ? make_menu() : edit_entries(argv.at(1));
  if (!done) return machine::ProgramOutput{1, done.error().message};
  return machine::ProgramOutput{0, ""};
}

Status ToyPrograms::write(const std::string& path, const std::string& text) {
  std::ofstream file;
  const std::size_t half = text.size() / 2;
  for (const std::string& part : {text.substr(0, half), text.substr(half)}) {
    if (hook_) HEADROOM_CHECK(hook_());
    if (!file.is_open()) file.open(files_.root() + path, std::ios::trunc);
    file << part << std::flush;
  }
  return Done{};
}

Status ToyPrograms::edit_entries(const std::string& word) {
  HEADROOM_TRY(const auto entries, files_.match("/boot/entries/*.conf"));
  for (const std::string& path : entries) {
    HEADROOM_TRY(std::string text, files_.read(path));
    text.insert(text.size() - 1, " " + word);
    HEADROOM_CHECK(write(path, text));
  }
  return write("/boot/entries/added.conf", "title added\noptions " + word + "\n");
}

Status ToyPrograms::make_menu() {
  HEADROOM_TRY(const std::string text, files_.read("/etc/default/toy"));
  return write("/boot/menu.cfg", "menu: " + text);
}

}  // namespace headroom::testing
