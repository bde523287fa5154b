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
  };
  Kind kind = Kind::sentence;
  std::string text;
  std::string remark;  // What stands behind a command: "(says why, if it fails)". May be empty.

  bool is_command() const { return kind == Kind::command; }
  // As programs read it: "sudo dmesg   (says why, if it fails)".
  std::string whole() const;

  bool operator==(const Step&) const = default;
};

Step command(std::string text, std::string remark = {});
Step sentence(std::string text);

// The same step, for who reads it inside a container.
Step on_the_host(Step step);

std::vector<Step> sentences(const std::vector<std::string>& texts);
// Each step as programs read it.
std::vector<std::string> texts_of(const std::vector<Step>& steps);

}  // namespace headroom::findings
