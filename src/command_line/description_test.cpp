// SPDX-License-Identifier: Apache-2.0
#include "command_line/description.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "command_line/completions.h"
#include "command_line/help_text.h"
#include "command_line/man_page.h"
#include "command_line/roff.h"
#include "command_line/usage.h"

namespace headroom::command_line {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

struct Program {
  CLI::App app{"Do something", "prog"};
  std::string file, mode, topic;
  std::vector<std::string> many, rest;
  bool quick = false;

  Program() {
    CLI::App* work = app.add_subcommand("work", "Work on it");
    work->add_option("JOB", file, "The job")->type_name("JOB")->required();
    work->add_option("COMMAND", rest, "What to run")->type_name("COMMAND");
    work->add_option("--mode", mode, "How, it's said")
        ->type_name("fast|slow")
        ->check(CLI::IsMember({"fast", "slow"}));
    work->add_option("--size,-s", topic, "How much")->type_name("SIZE|auto");
    work->add_option("--pid", many, "Which")->type_name("PID")->allow_extra_args(false);
    work->add_flag("--quick,-q", quick, "Hurry")->group("Speed");
    work->add_flag("--secret", quick, "Hidden")->group("");
    work->footer(
        "A note\nin two lines.\n\nExit: 0 fine.\n\nExamples:\n"
        "  prog work job.toml     do it\n  prog work");
    app.add_subcommand("help", "Explain")->add_option("topic", topic, "What")->type_name("TOPIC");
    app.add_subcommand("pages", "Hidden")->group("");
    app.require_subcommand(1);
  }

  Command described() const { return describe(app, {{"TOPIC", {"memory", "ladder"}}}); }

  Error error_of(std::vector<std::string> words) {
    const std::vector<std::string> typed = words;
    std::reverse(words.begin(), words.end());
    words.pop_back();
    try {
      app.parse(words);
    } catch (const CLI::ParseError& problem) {
      EXPECT_FALSE(find_answer(app, problem, 80));
      return make_usage_error(app, problem, typed);
    }
    ADD_FAILURE() << "it was taken";
    return {};
  }
};

TEST(Description, says_what_the_parser_takes_and_hides_what_is_hidden) {
  const Command program = Program().described();
  ASSERT_EQ(program.commands.size(), 2U);
  const Command& work = program.commands[0];
  EXPECT_EQ(work.name, "prog work");
  EXPECT_TRUE(work.runs_command);
  ASSERT_EQ(work.options.size(), 5U);  // With --help.
  EXPECT_THAT(work.options[1].names, ElementsAre("--mode"));
  EXPECT_EQ(work.options[1].value.name, "fast|slow");
  EXPECT_THAT(work.options[1].value.words, ElementsAre("fast", "slow"));
  EXPECT_FALSE(work.options[1].value.is_open);
  EXPECT_THAT(work.options[2].names, ElementsAre("-s", "--size"));
  EXPECT_TRUE(work.options[2].value.is_open);
  EXPECT_THAT(work.options[2].value.words, ElementsAre("auto"));
  EXPECT_TRUE(work.options[3].repeats);
  EXPECT_EQ(work.options[4].value.kind, ValueKind::none);
  EXPECT_EQ(work.arguments[0].value.kind, ValueKind::file);
  EXPECT_THAT(program.commands[1].arguments[0].value.words, ElementsAre("memory", "ladder"));
}

TEST(Description, a_footer_is_notes_exit_codes_and_examples) {
  const Command work = Program().described().commands[0];
  EXPECT_THAT(work.notes, ElementsAre("A note in two lines."));
  EXPECT_EQ(work.exit_codes, "0 fine.");
  ASSERT_EQ(work.examples.size(), 2U);
  EXPECT_EQ(work.examples[0].command, "prog work job.toml");
  EXPECT_EQ(work.examples[0].meaning, "do it");
  EXPECT_EQ(work.examples[1].command, "prog work");
}

TEST(Help, is_no_wider_than_the_screen_and_names_every_option) {
  const std::string help = to_help(Program().described().commands[0], 60);
  EXPECT_THAT(help, HasSubstr("Usage: prog work [OPTION]... JOB [-- COMMAND...]\n"));
  EXPECT_THAT(help, HasSubstr("\nSpeed:\n  -q, --quick               Hurry\n"));
  EXPECT_THAT(help, Not(HasSubstr("secret")));
  EXPECT_THAT(help, Not(HasSubstr("\n\n\n")));
  EXPECT_THAT(help, HasSubstr("\n\nA note in two lines.\n\nExit: 0 fine.\n"));
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = help.find('\n', begin);
    EXPECT_LE(help.substr(begin, end - begin).size(), 60U);
  }
}

TEST(ManPage, no_text_is_taken_for_markup) {
  EXPECT_EQ(escape_roff(".TH 'x'"), "\\&.TH \\(aqx\\(aq");
  EXPECT_EQ(escape_roff("--a\\b \xE2\x80\xA6"), "\\-\\-a\\eb \\[u2026]");
  const Program program;
  const Command whole = program.described();
  const std::string page = to_man_page(whole.commands[0], whole, {"1.2", "2026-01-02"});
  EXPECT_THAT(page, HasSubstr(".TH PROG\\-WORK 1 2026-01-02 \"headroom 1.2\""));
  EXPECT_THAT(page, HasSubstr("\\fB\\-s\\fR, \\fB\\-\\-size\\fR \\fISIZE|auto\\fR\nHow much\n"));
  EXPECT_THAT(page, HasSubstr(".SH EXIT STATUS\n0 fine.\n"));
}

TEST(Completions, no_text_ends_its_quotes) {
  EXPECT_EQ(quote_single("it's"), "'it'\\''s'");
  const Command program = Program().described();
  EXPECT_THAT(to_zsh_completion(program), HasSubstr("--mode=[How, it'\\''s said]"));
  EXPECT_THAT(to_fish_completion(program), HasSubstr("-d 'How, it\\'s said'"));
}

TEST(UsageError, an_option_in_front_of_its_command_is_moved_behind_it) {
  const Error option = Program().error_of({"prog", "--size", "work", "x"});
  EXPECT_EQ(option.message, "work: --size stands behind the command's name");
  EXPECT_EQ(option.next, "prog work --size x");
}

TEST(UsageError, a_misspelt_word_is_answered_with_the_nearest) {
  const Error command = Program().error_of({"prog", "wrok", "x"});
  EXPECT_EQ(command.message, "there is no command \"wrok\"; did you mean work?");
  EXPECT_EQ(command.next, "prog work x");
  const Error option = Program().error_of({"prog", "work", "x", "--sise=3"});
  EXPECT_EQ(option.message, "work: there is no option --sise; did you mean --size?");
  EXPECT_EQ(option.next, "prog work x --size=3");
  const Error value = Program().error_of({"prog", "work", "x", "--mode", "fsat"});
  EXPECT_EQ(value.message,
            "work: --mode: expected fast or slow, found \"fsat\"; did you mean fast?");
  EXPECT_EQ(value.next, "prog work x --mode fast");
}

TEST(UsageError, what_is_far_from_everything_is_answered_with_help) {
  const Error command = Program().error_of({"prog", "sing"});
  EXPECT_EQ(command.message, "there is no command \"sing\"");
  EXPECT_EQ(command.next, "prog --help lists the commands");
  EXPECT_EQ(Program().error_of({"prog"}).message, "expected a command, found none");
  EXPECT_EQ(Program().error_of({"prog", "work"}).message, "work: expected a JOB, found none");
  // A hidden command is not offered.
  EXPECT_EQ(Program().error_of({"prog", "page"}).message, "there is no command \"page\"");
}

TEST(UsageErrors, numbers_and_pairs_are_told_in_our_own_words) {
  const Error twice =
      Program().error_of({"prog", "work", "job", "--mode", "fast", "--mode", "slow"});
  EXPECT_EQ(twice.message, "work: --mode: expected it once, found it 2 times");
  const Error nothing = Program().error_of({"prog", "work", "job", "--size"});
  EXPECT_EQ(nothing.message, "work: --size: expected a value (SIZE|auto), found nothing");
  EXPECT_EQ(nothing.next, "prog work --help");
  const Error swallowed = Program().error_of({"prog", "work", "--size", "--mode"});
  EXPECT_EQ(swallowed.message, "work: expected a value behind --size, found the option --mode");
  Program pair;
  CLI::App* work = pair.app.get_subcommand("work");
  work->get_option("--size")->excludes(work->get_option("--mode"));
  const Error both = pair.error_of({"prog", "work", "job", "--size", "1", "--mode", "fast"});
  EXPECT_THAT(both.message, ::testing::MatchesRegex("work: expected --.* or --.*, found both"));
}

}  // namespace
}  // namespace headroom::command_line
