// SPDX-License-Identifier: Apache-2.0
// One step of what to do. Whoever advises it knows whether it is typed or read, and says so; no one
// has to guess it from the words.
#pragma once

#include <string>
#include <vector>

namespace headroom::findings {

struct Step {
  enum class Kind {
    command,   // To be typed as it stands: it is shown whole, however narrow the page is.
    sentence,  // To be read: it is folded. A command may be part of it.
    look,      // A command that changes nothing, for who wants to see for themselves.
  };
  Kind kind = Kind::sentence;
  std::string text;
  std::string remark;  // What stands behind a command: "(says why, if it fails)". May be empty.

  // The command that carries a sentence out; it is shown whole, below the sentence.
  std::string run = {};

  bool is_command() const { return kind == Kind::command; }
  bool is_look() const { return kind == Kind::look; }
  // As programs read it: "sudo dmesg   (says why, if it fails)".
  std::string whole() const;

  bool operator==(const Step&) const = default;
};

Step command(std::string text, std::string remark = {});
Step sentence(std::string text);
// One step: what is to be done, and the command that does it.
Step sentence_with(std::string text, std::string run);
Step look(std::string text, std::string remark = {});
Step reboot();

// Puts a step before the reboot, which comes last, and before what is only looked at.
void insert_before_reboot(Step step, std::vector<Step>& steps);
// Says in words what the first step is for, in one step with its command or its sentence.
void explain_first(std::string text, std::vector<Step>& steps);

// The same step, for a reader inside a container: a command becomes a sentence that says where to
// type it.
Step on_the_host(Step step);

std::vector<Step> sentences(const std::vector<std::string>& texts);
// Each step as programs read it.
std::vector<std::string> texts_of(const std::vector<Step>& steps);

}  // namespace headroom::findings
