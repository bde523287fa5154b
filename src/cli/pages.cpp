// SPDX-License-Identifier: Apache-2.0
#include "cli/pages.h"

#include <memory>
#include <string>

#include "base/version.h"
#include "cli/help.h"
#include "command_line/pages.h"
#include "machine/output_files.h"
#include "plan/fix.h"

namespace headroom::cli {
namespace {

struct PagesOptions {
  std::string folder;
  std::string date;
};

// What stands for the capital names in the commands' descriptions, as far as it is a list.
command_line::KnownWords known_words() {
  command_line::KnownWords known{{"TOPIC", help_words()}};
  for (const plan::Fix* fix : plan::fixes()) known["FINDING"].emplace_back(fix->id);
  return known;
}

int write_pages(const CLI::App& app, const PagesOptions& options, const Context& context) {
  const auto program = command_line::describe(app, known_words());
  for (const auto& [path, text] :
       command_line::make_pages(program, {program_version(), options.date})) {
    const auto written = machine::write_output({"DIR", options.folder + "/" + path}, text);
    if (!written) return print_error(context, written.error(), exit_could_not_look);
  }
  return exit_ok;
}

}  // namespace

void add_pages(CLI::App& app, Context& context) {
  auto options = std::make_shared<PagesOptions>();
  CLI::App* command =
      app.add_subcommand("pages", "Write man pages and completions into a folder")->group("");
  command->add_option("DIR", options->folder, "The folder; man/ and completions/ are in it")
      ->required();
  command->add_option("DATE", options->date, "The date of the man pages, YYYY-MM-DD")->required();
  command->callback(
      [options, &app, &context] { context.exit_code = write_pages(app, *options, context); });
}

}  // namespace headroom::cli
