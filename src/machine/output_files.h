// SPDX-License-Identifier: Apache-2.0
// The door for files that a command is asked to write: checked before any work is done, so that no
// option destroys what the command reads, and nobody waits for an answer that has no place.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace headroom::machine {

struct OutputFile {
  std::string option;     // "--report"
  std::string path;       // As typed; empty: not asked for.
  std::string next = {};  // What to type instead; empty: the option with another name.
};

// What a command reads.
struct InputFiles {
  std::vector<std::string> files;
  // Every file below such a folder is read if its name ends so; one that is new would be, next
  // time.
  struct Folder {
    std::string path;
    std::vector<std::string> endings;
  };
  std::vector<Folder> folders;

  void add(const InputFiles& others);
};

// Of a machine that was captured into a folder or an archive: all of it. Nothing of "/", whose
// files are named to be changed.
InputFiles captured_machine(const std::string& root);

// The folder's files that are read, with those of the folders below it; links to folders are not
// followed. What cannot be read is left out: reading it says why.
std::vector<std::string> list_files(const InputFiles::Folder& folder);

// Fails (invalid) where an output is an input, under whatever name or link, lies where it would
// become one, or is another output as well. Writes nothing.
Status check_names(const std::vector<OutputFile>& outputs, const InputFiles& inputs);

// Fails where one could not be written for want of a folder, because a folder is there, or because
// somebody else's link leads there. Writes nothing.
Status check_places(const std::vector<OutputFile>& outputs);

// Replaces the file (write_file_atomic), or says how to name one that can be written.
Status write_output(const OutputFile& output, std::string_view text);

}  // namespace headroom::machine
