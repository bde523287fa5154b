// SPDX-License-Identifier: Apache-2.0
// A step of a change to a machine, as a value: what will be edited or run, why, and what must be
// true of the machine's files afterwards. Planning makes steps from what was read; change/ carries
// them out, and undoes them from what its journal saved.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace headroom::plan {

// What a step is for, as people speak of it.
enum class StepKind {
  write_file,
  kernel_argument,
  module_option,
  initramfs,
  sysctl,
  group,
  environment,
  service,
  link,
  by_hand,
};

// One regular file, from the bytes that planning saw to the bytes that are wanted. Folders on the
// way to a new file are made, and removed again by undo.
struct FileEdit {
  std::string path;                   // As on that machine; links on the way are followed.
  std::optional<std::string> before;  // nullopt: it is not there.
  std::optional<std::string> after;   // nullopt: it is removed.
  // Of a new file, 0644 if not given; an existing file keeps its mode, owner and labels.
  std::optional<std::uint32_t> mode;
};

// One symbolic link; never followed.
struct LinkEdit {
  std::string path;
  std::optional<std::string> before;  // What it says; nullopt: it is not there.
  std::optional<std::string> after;   // nullopt: it is removed.
};

// When undo has to run a command as well, after all files were restored.
enum class UndoRun {
  never,       // Restoring the files is enough.
  if_changed,  // If a file that it generates was made anew since, so that it was not restored.
  always,      // The command has effects outside of files ("systemctl daemon-reload").
};

// A program of the machine's own distribution. Paths may have a "*" in their last part, which
// matches any run of characters. Whatever matches before or afterwards is saved by the journal.
struct Command {
  std::vector<std::string> argv;  // argv[0] is a bare name: "update-grub".
  // Files that it edits and people edit too (loader entries): undo refuses where they were changed
  // since.
  std::vector<std::string> edits;
  // Files that it makes from others (grub.cfg, initramfs images): where they were made anew since,
  // undo leaves them and runs `undo`, once what they are made from is restored.
  std::vector<std::string> generates;
  std::vector<std::string> undo;  // Empty: nothing to run.
  UndoRun undo_run = UndoRun::never;
};

// What only a person can do; printed, never done. A change that has one stays open until confirm.
struct Instruction {
  std::string text;
  // What is to be saved or pasted as it stands: no line of it may be folded.
  bool verbatim = false;
};

// What must be true once the step is done; a step whose expectation fails is rolled back with the
// whole change.
struct Expectation {
  enum class Kind {
    file_contains,  // Every file that `path` (with "*") matches, and at least one, has `text`.
    file_lacks,     // No file that `path` matches has `text`.
    image_holds,    // The initramfs image `path` holds the machine's file `text` with its bytes.
  };
  Kind kind = Kind::file_contains;
  std::string path;
  std::string text;
};

using Action = std::variant<FileEdit, LinkEdit, Command, Instruction>;

struct Step {
  StepKind kind = StepKind::write_file;
  std::string what;  // "Put ttm.pages_limit=31457280 on the kernel command line".
  std::string why;   // One sentence; may be empty.
  Action action;
  std::vector<Expectation> expects;
  // False for what the user owns, such as files of the home folder.
  bool needs_root = true;
};

std::string_view to_string(StepKind kind);

}  // namespace headroom::plan
