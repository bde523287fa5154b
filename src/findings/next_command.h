// SPDX-License-Identifier: Apache-2.0
// The headroom command that a finding asks its reader to type next, and what that command does: one
// that looks can tell two causes apart, one that mends cannot.
#pragma once

#include <string>
#include <string_view>

namespace headroom::findings {

class NextCommand {
 public:
  NextCommand() = default;  // None.

  // "headroom check --verbose" for check("--verbose").
  static NextCommand check(std::string_view options = {});
  static NextCommand plan();                    // A job to put one's own model in.
  static NextCommand fix(std::string_view id);  // The id of one of plan's fixes.
  static NextCommand reclaim();
  static NextCommand stack();      // `headroom fix stack`: tells how to set it up.
  static NextCommand allocator();  // The reader's own command, on headroom's allocator.

  const std::string& text() const { return text_; }  // Empty: none.
  bool only_looks() const { return does_ == Does::look; }
  // It shows what mends the finding.
  bool mends() const { return does_ == Does::fix || does_ == Does::reclaim || guides(); }
  // By steps for the user; there is nothing to apply on the system.
  bool guides() const { return does_ == Does::guide; }
  bool plans() const { return does_ == Does::plan; }
  // It runs what the reader puts in; it looks at no machine.
  bool runs() const { return does_ == Does::run; }
  // By `headroom undo`.
  bool can_be_undone() const { return does_ == Does::fix; }

 private:
  enum class Does { nothing, look, plan, fix, reclaim, guide, run };
  NextCommand(Does does, std::string text);

  Does does_ = Does::nothing;
  std::string text_;
};

}  // namespace headroom::findings
