// SPDX-License-Identifier: Apache-2.0
#include "cli/check_env.h"

#include <algorithm>

#include "base/document.h"
#include "deploy/service_judgement.h"
#include "machine/standard_input.h"
#include "machine/terminal.h"
#include "machine/user_files.h"
#include "report/check_json.h"
#include "report/environment_text.h"
#include "report/service_text.h"

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

Result<std::string> read_snippet(const std::string& name) {
  constexpr std::size_t limit = std::size_t{1} << 20U;
  auto text = name == "-" ? machine::read_standard_input(limit) : machine::read_file(name, limit);
  if (!text) {
    Error error = std::move(text).error();
    error.next = "headroom check --env FILE, or - for standard input";
    return error;
  }
  return *std::move(text);
}

std::vector<facts::Setting> settings_in(const EnvQuestion& question, const std::string& text,
                                        const knowledge::KnobTable& knobs) {
  const facts::Text snippet(text, facts::Source{question.file, 0, ""});
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
  const auto text = read_snippet(question.file);
  if (!text) return print_error(context, text.error(), exit_usage);
  const auto judged =
      findings::audit_knobs(settings_in(question, *text, tables.knobs), facts, tables);
  // A file that only looks like one of a service may still hold settings.
  const auto described = deploy::read_service_file(question.file, *text);
  const auto services = described ? deploy::judge_services(*described, facts, diagnosis, tables)
                                  : std::vector<deploy::ServiceJudgement>();
  if (question.json) {
    diagnosis.environment.insert(diagnosis.environment.end(), judged.begin(), judged.end());
    auto document = report::to_json(facts, diagnosis);
    document["services"] = report::services_json(services);
    context.printer.print_json_text(report::to_text(document));
  } else {
    const report::Style style{machine::stdout_shows_colour(), machine::stdout_width()};
    context.printer.print(question.quiet
                              ? report::environment_tally(judged) + report::misfits_tally(services)
                              : report::environment_text(question.file, facts, judged, style) +
                                    report::services_text(services, style));
  }
  return has_advice(judged) || deploy::has_misfit(services) ? exit_findings : exit_ok;
}

}  // namespace headroom::cli
