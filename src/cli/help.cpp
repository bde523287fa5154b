// SPDX-License-Identifier: Apache-2.0
#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/shell_quote.h"
#include "base/text.h"
#include "command_line/description.h"
#include "command_line/help_text.h"
#include "findings/causes/causes.h"
#include "findings/rules.h"
#include "knowledge/gpu_tables.h"
#include "knowledge/help_topics.h"
#include "machine/terminal.h"
#include "report/style.h"

namespace headroom::cli {
namespace {

using command_line::Command;
using knowledge::HelpTopic;
using Topics = std::vector<HelpTopic>;

std::string fold(std::string_view text) {
  return report::fold(text, "", machine::stdout_width());
}

// Paragraphs are folded; lines that begin with two blanks are commands and tables.
std::string to_text(const HelpTopic& topic) {
  const report::Style style{machine::stdout_shows_colour(), machine::stdout_width()};
  std::string text = style.bold(topic.about) + "\n\n";
  for (const std::string_view line : split_lines(topic.text))
    text += line.starts_with("  ") ? std::string(line) + "\n" : fold(line);
  return text;
}

// The texts of a rule, which is a CauseRule or a Rule.
template <class Rule>
std::optional<std::string> find_rule_text(std::span<const Rule* const> rules,
                                          const std::string& id) {
  for (const Rule* rule : rules) {
    if (rule->id != id) continue;
    return fold(rule->meaning) + "\n" + fold(fmt::format("Background: {}", rule->why)) + "\n" +
           fold(fmt::format("What to do: {}", rule->fix));
  }
  return std::nullopt;
}

std::optional<std::string> find_text(const Command& program, const Topics& topics,
                                     const std::string& word) {
  const auto command =
      std::find_if(program.commands.begin(), program.commands.end(),
                   [&](const Command& one) { return one.name == program.name + " " + word; });
  if (command != program.commands.end())
    return command_line::to_help(*command, machine::stdout_width());
  const auto topic = std::find_if(topics.begin(), topics.end(),
                                  [&](const HelpTopic& one) { return one.id == word; });
  if (topic != topics.end()) return to_text(*topic);
  if (auto text = find_rule_text(findings::cause_rules(), word)) return text;
  return find_rule_text(findings::rules(), word);
}

// A GPU's target, or a card by what people call it: "gfx906", "MI50".
bool is_gpu(const std::string& word) {
  const auto tables = knowledge::load_gpu_tables();
  return tables && (tables->target(word) != nullptr || !tables->card_names.find(word).empty());
}

// The topic that answers a word which is not its name.
std::optional<std::string> find_other_word(const Topics& topics, const std::string& word) {
  const std::string small = to_lower(word);
  const std::string meant = is_gpu(word) || is_gpu(small) ? "targets" : small;
  for (const HelpTopic& topic : topics) {
    const bool other = std::find(topic.also.begin(), topic.also.end(), meant) != topic.also.end();
    if (topic.id == meant || other) return to_text(topic);
  }
  return std::nullopt;
}

std::string list_topics(const Topics& topics) {
  std::vector<std::vector<std::string>> rows;
  for (const HelpTopic& topic : topics) rows.push_back({topic.id, topic.about});
  std::string list = "\nTopics (headroom help TOPIC):\n";
  for (const std::string& row : report::align(rows, {report::Align::left, report::Align::left}))
    list += "  " + row + "\n";
  return list + "\nheadroom help CAUSE explains a cause that check has named, such as ttm-cap.\n";
}

int run_help(const CLI::App& app, const std::string& word, const Context& context) {
  const auto topics = knowledge::load_help_topics();
  if (!topics) return print_error(context, topics.error(), exit_could_not_look);
  const Command program = command_line::describe(app);
  if (word.empty()) {
    context.printer.print(command_line::to_help(program, machine::stdout_width()) +
                          list_topics(*topics));
    return exit_ok;
  }
  if (const auto text = find_text(program, *topics, word)) {
    context.printer.print(*text);
    return exit_ok;
  }
  if (const auto text = find_other_word(*topics, word)) {
    context.printer.print(*text);
    return exit_ok;
  }
  std::vector<std::string> words = help_words();
  for (const Command& command : program.commands)
    words.push_back(command.name.substr(program.name.size() + 1));
  const auto meant = nearest(word, words);
  const Error error{Errc::invalid,
                    fmt::format("there is no help on \"{}\"{}", word,
                                meant ? fmt::format("; did you mean {}?", *meant) : ""),
                    meant ? "headroom help " + *meant : "headroom help TOPIC, with one of these:"};
  const int code = print_error(context, error, exit_usage);
  if (!meant) context.printer.say(list_topics(*topics));
  return code;
}

}  // namespace

std::vector<std::string> help_words() {
  std::vector<std::string> words;
  if (const auto topics = knowledge::load_help_topics()) {
    for (const HelpTopic& topic : *topics) words.push_back(topic.id);
  }
  for (const findings::CauseRule* rule : findings::cause_rules()) words.emplace_back(rule->id);
  for (const findings::Rule* rule : findings::rules()) words.emplace_back(rule->id);
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

void add_help(CLI::App& app, Context& context) {
  auto topic = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "help", "Explain a command, a topic such as memory, or a cause that check has named");
  command->add_option("topic", *topic, "What to explain (default: list commands and topics)")
      ->type_name("TOPIC");
  command->footer(
      "Examples:\n"
      "  headroom help memory     out of memory: is the job too big, or is the card full?\n"
      "  headroom help ttm-cap    what the cause means that headroom check has named");
  command->callback(
      [topic, &app, &context] { context.exit_code = run_help(app, *topic, context); });
}

}  // namespace headroom::cli
