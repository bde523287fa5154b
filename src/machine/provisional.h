// SPDX-License-Identifier: Apache-2.0
// A name for something that is not finished, or not meant to stay. Whatever its owner dies of, what
// has that name goes with it (caretaker.h); what is finished is given another name before.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "machine/caretaker.h"
#include "machine/descriptor.h"

namespace headroom::machine {

// Of what will have another name beside it; hidden, should it ever be left.
inline constexpr const char* provisional_beginning = ".headroom-unfinished-";

class Provisional {
 public:
  // A name beginning with `beginning` that nobody can guess, in the folder at `parent`; nothing has
  // it yet. `doing` begins the message where that folder cannot be opened. `sweeps`: what earlier
  // owners left under such names is removed meanwhile.
  static Result<Provisional> make(const std::string& parent, const std::string& beginning,
                                  const std::string& doing, bool sweeps = false);

  int parent() const { return parent_->get(); }  // Open; not to be closed.
  const std::string& name() const { return name_; }

  // Gives what has the provisional name its own, in an open folder. 0 or an errno: EEXIST where
  // something has that name, which stays as it is.
  int keep_as(int folder, const std::string& name) const;

 private:
  Provisional() = default;

  std::string name_;
  std::unique_ptr<Descriptor> parent_;  // Closed after the caretaker is done.
  std::unique_ptr<Caretaker> caretaker_;
};

// renameat2 with RENAME_NOREPLACE; where a file system lacks that, as NFS does, what is there is
// looked for just before. 0 or an errno.
int rename_to_new(int from_folder, const std::string& from, int to_folder, const std::string& to);

// The folder that a path as typed lies in, and its name there: of "out/box" they are "out" and
// "box", of "box" alone "." and "box".
struct Placed {
  std::string folder;
  std::string name;
};
Placed place_of(std::string path);

}  // namespace headroom::machine
