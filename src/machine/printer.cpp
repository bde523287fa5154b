// SPDX-License-Identifier: Apache-2.0
#include "machine/printer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "base/document.h"
#include "base/printable.h"
#include "machine/file_limit.h"
#include "machine/terminal.h"

namespace headroom::machine {
namespace {

constexpr int highest_answer = 1;  // Exit codes 0 and 1 say what was found, and that it was told.
constexpr int not_told = 3;

}  // namespace

Printer::Printer(std::string program) : Printer(std::move(program), fill_standard_descriptors()) {}

Printer::Printer(std::string program, StandardDescriptors were)
    : program_(std::move(program)),
      output_(STDOUT_FILENO, were.output_was_closed),
      errors_(STDERR_FILENO, were.errors_were_closed),
      shows_colour_(stdout_shows_colour()) {
  errors_.outlive_broken_pipe();
  outlive_file_limit();  // Of output that is a file as well.
}

void Printer::print(std::string_view page) {
  output_.write(shows_colour_ ? printable_page(page) : printable_lines(page));
}

void Printer::print_json(const Json& value, int indent) {
  print_json_text(value.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n");
}

void Printer::print_json_text(std::string_view json) {
  output_.write(printable_json(json));
}

void Printer::say(std::string_view page) {
  errors_.write(printable_lines(page));
}

void Printer::note(std::string_view line) {
  say(fmt::format("{}: {}\n", program_, line));
}

void Printer::tell(const Error& error) {
  note(error.message);
  if (!error.next.empty()) say(fmt::format("  next: {}\n", error.next));
}

// ECMA-48: back to the line's begin, and what is there erased.
void Printer::rewrite_line(std::string_view line) {
  errors_.write("\r\x1b[K" + printable(line));
}

int Printer::finish(int code) {
  output_.flush();
  if (!output_.problem() || code > highest_answer || code < 0) return code;
  tell({Errc::io,
        fmt::format("the answer could not be written to standard output: {}", *output_.problem()),
        "send it to where there is room, as with > FILE"});
  return not_told;
}

}  // namespace headroom::machine
