// SPDX-License-Identifier: Apache-2.0
// home_change ROOT HOME: changes a scratch root as a fix of a person's own settings does that root
// applies, in the home folder and in /etc. home_change --undo ROOT: takes that back as
// `headroom undo` does. home_change --script HOME: prints that change as a script. For scripts.
#include <fmt/format.h>

#include <exception>
#include <string>

#include "change/change_machine.h"
#include "fault/toy_machine.h"
#include "report/change_script.h"

namespace headroom::change {
namespace {

plan::Step step(plan::Action action) {
  return {plan::StepKind::write_file, "edit", "", std::move(action), {}, true};
}

plan::Change home_change(const std::string& home) {
  plan::Change change;
  change.fix = "home";
  change.title = "Change settings of one person and of all";
  change.words = {"headroom", "fix", "home"};
  change.steps = {
      step(plan::FileEdit{"/etc/environment", "old\n", "new\n", {}}),
      step(plan::FileEdit{home + "/.config/app/settings.conf", "old\n", "new\n", {}}),
      step(plan::FileEdit{home + "/.config/app/made/made.conf", std::nullopt, "made\n", {}}),
      step(plan::LinkEdit{home + "/.config/app/link", "old", "new"}),
  };
  return change;
}

int run(bool undoing, const std::string& root, const std::string& home) {
  auto files = machine::WritableFiles::open(root);
  if (!files) {
    fmt::print(stderr, "home_change: {}\n", files.error().message);
    return 1;
  }
  testing::ToyPrograms programs(*files);
  Journal journal(*files, "/var/lib/headroom");
  const Doors doors{*files, programs, "2026-11-21T22:30:11Z"};
  Status done = Done{};
  if (undoing) {
    const auto undone = undo(doors, journal, "20261121T223011Z-home");
    if (!undone) done = undone.error();
  } else {
    const auto record = apply(doors, journal, home_change(home), "boot-1");
    if (!record) done = record.error();
  }
  if (!done) fmt::print(stderr, "home_change: {}\n", done.error().message);
  return done ? 0 : 1;
}

}  // namespace
}  // namespace headroom::change

int main(int argc, char** argv) {
  const bool undoing = argc == 3 && std::string(argv[1]) == "--undo";
  try {
    if (argc == 3 && std::string(argv[1]) == "--script") {
      fmt::print("{}", headroom::report::to_script(headroom::change::home_change(argv[2])));
      return 0;
    }
    if (argc == 3) return headroom::change::run(undoing, argv[undoing ? 2 : 1], argv[2]);
  } catch (const std::exception& problem) {
    fmt::print(stderr, "home_change: {}\n", problem.what());
    return 1;
  }
  fmt::print(stderr,
             "usage: home_change ROOT HOME, home_change --undo ROOT, home_change --script HOME\n");
  return 2;
}
