// SPDX-License-Identifier: Apache-2.0
// A small machine that a change can do everything to: files with modes of their own, loader entries
// that a program edits, a menu that a program makes from them. Its programs write as programs do,
// in place and not at once, and a fault can hit them half-way.
#pragma once

#include <functional>
#include <string>

#include "machine/programs.h"
#include "machine/writable_files.h"
#include "plan/change.h"
#include "support/scratch_root.h"

namespace headroom::testing {

void fill_toy_machine(const ScratchRoot& root);

// A new file in a new folder, an edited file, a removed one, a new and a changed link, loader
// entries edited by a program that adds one as well, a menu made anew by another; and on_confirm an
// edited file, a removed one and the menu once more.
plan::Change toy_change();

class ToyPrograms final : public machine::Programs {
 public:
  explicit ToyPrograms(machine::WritableFiles& files) : files_(files) {}
  // Called before each half of each file that a program writes.
  void before_each(std::function<Status()> hook) { hook_ = std::move(hook); }
  bool has(std::string_view name) const override;
  Result<machine::ProgramOutput> run(const std::vector<std::string>& argv) override;

 private:
  Status edit_entries(const std::string& word);
  Status make_menu();
  Status write(const std::string& path, const std::string& text);

  machine::WritableFiles& files_;
  std::function<Status()> hook_;
};

}  // namespace headroom::testing
