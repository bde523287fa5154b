// SPDX-License-Identifier: Apache-2.0
#include "cli/check_env.h"

#include <algorithm>

#include "machine/standard_input.h"
#include "machine/terminal.h"
#include "machine/user_files.h"
#include "report/check_json.h"
#include "report/environment_text.h"

namespace headroom::cli {
namespace {

// Words of the kernel command line that the table knows beside modules' parameters.
std::vector<std::string> boot_words(const knowledge::KnobTable& knobs) {
  std::vector<std::string> words;
  for (const knowledge::Knob& knob : knobs.rows()) {
    if (knob.is_parameter() && knob.name.find('.') == std::string::npos) words.push_back(knob.name);
  }
  return words;
}

Result<std::vector<facts::Setting>> read_snippet(const std::string& name,
                                                 const knowledge::KnobTable& knobs) {
  constexpr std::size_t limit = std::size_t{1} << 20U;
  auto text = name == "-" ? machine::read_standard_input(limit) : machine::read_file(name, limit);
  if (!text) {
    Error error = std::move(text).error();
    error.next = "headroom check --env FILE, or - for standard input";
    return error;
  }
  const facts::Text snippet(*std::move(text), facts::Source{name, 0, ""});
  return facts::parse_snippet(snippet, facts::Scope::given, boot_words(knobs));
}

// Something in the snippet should change.
bool has_advice(const std::vector<findings::Judgement>& judged) {
  return std::any_of(judged.begin(), judged.end(), [](const findings::Judgement& one) {
    return one.ours && one.verdict != findings::KnobVerdict::keep;
  });
}

}  // namespace

int answer_env(const EnvQuestion& question, const facts::Facts& facts,
               findings::Diagnosis diagnosis, const knowledge::GpuTables& tables,
               const Context& context) {
  const auto snippet = read_snippet(question.file, tables.knobs);
  if (!snippet) return print_error(context, snippet.error(), exit_usage);
  const auto judged = findings::audit_knobs(*snippet, facts, tables);
  if (question.json) {
    diagnosis.environment.insert(diagnosis.environment.end(), judged.begin(), judged.end());
    context.printer.print_json_text(report::to_json_text(facts, diagnosis));
  } else {
    const report::Style style{machine::stdout_shows_colour(), machine::stdout_width()};
    context.printer.print(report::environment_text(question.file, facts, judged, style));
  }
  return has_advice(judged) ? exit_findings : exit_ok;
}

}  // namespace headroom::cli
