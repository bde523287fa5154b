// SPDX-License-Identifier: Apache-2.0
// The only way by which our programs print. What is printed cannot steer a terminal, wherever it
// was quoted from; what could not be printed never passes for success; and nothing of this throws.
#pragma once

#include <string>
#include <string_view>

#include "base/document_fwd.h"
#include "base/error.h"
#include "machine/output_stream.h"

namespace headroom::machine {

class Printer {
 public:
  // To be made in main before anything else. `program` begins every line on standard error.
  explicit Printer(std::string program);

  // On standard output: what was asked for. Hidden characters show as '?'; colours stay where
  // standard output shows them.
  void print(std::string_view page);
  // A value with a line end, or text that is JSON already. Hidden characters are escaped.
  void print_json(const Json& value, int indent = 2);
  void print_json_text(std::string_view json);

  // On standard error: for a person, and never a reason to end otherwise than without it.
  void say(std::string_view page);           // As it is.
  void note(std::string_view line);          // "PROGRAM: LINE"
  void tell(const Error& error);             // "PROGRAM: MESSAGE", "  next: COMMAND"
  void rewrite_line(std::string_view line);  // In place of a terminal's last line; no line end.

  // From here on a reader who has gone does not end the program: it finishes what it does.
  void finish_first() { output_.outlive_broken_pipe(); }

  // The exit code of the program: `code`, but exit code 3 with a word on standard error where not
  // everything that belongs on standard output got there and `code` (0 or 1) says that it did.
  int finish(int code);

 private:
  Printer(std::string program, StandardDescriptors were);

  std::string program_;
  OutputStream output_;
  OutputStream errors_;
  bool shows_colour_ = false;
};

}  // namespace headroom::machine
