// SPDX-License-Identifier: Apache-2.0
#include "cli/check_env.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/document.h"
#include "base/shell_quote.h"
#include "base/text.h"
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

// "a/b.yml" → "a/".
std::string folder_of(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  return slash == std::string::npos ? "" : file.substr(0, slash + 1);
}

// Files are named from the folder of the file that names them (the Compose Specification).
void name_from(const std::string& folder, std::vector<deploy::Elsewhere>& places) {
  for (deploy::Elsewhere& one : places) {
    if (!one.file.empty() && one.file.front() != '/') one.file.insert(0, folder);
  }
}

// Reads what services take from files beside this one. What cannot be read stays in `elsewhere`,
// and the answer says so.
void read_bases(const EnvQuestion& question, std::vector<deploy::DescribedService>& services) {
  constexpr int most = 8;  // Files that build on each other.
  const std::string folder = folder_of(question.file);
  for (deploy::DescribedService& service : services) {
    for (int round = 0; round < most; ++round) {
      const auto at = std::find_if(
          service.elsewhere.begin(), service.elsewhere.end(),
          [](const deploy::Elsewhere& one) { return one.key == "extends" && !one.file.empty(); });
      if (at == service.elsewhere.end() || question.file == "-") break;
      const std::string path = at->file.front() == '/' ? at->file : folder + at->file;
      const auto text = read_snippet(path);
      const auto others = text ? deploy::read_service_file(path, *text)
                               : Result<std::vector<deploy::DescribedService>>(text.error());
      if (!others) break;
      const auto base = std::find_if(
          others->begin(), others->end(),
          [&at](const deploy::DescribedService& other) { return other.name == at->service; });
      if (base == others->end()) break;
      deploy::DescribedService found = *base;
      name_from(folder_of(at->file), found.elsewhere);
      deploy::build_on(service, static_cast<std::size_t>(at - service.elsewhere.begin()), found);
    }
    name_from(folder, service.elsewhere);
  }
}

// Of services that are nothing to a GPU, so that silence is not taken for a doubt.
std::string without_gpu(const Result<std::vector<deploy::DescribedService>>& described,
                        const std::vector<deploy::ServiceJudgement>& judged,
                        const report::Style& style) {
  if (!described || described->empty() || !judged.empty()) return "";
  std::vector<std::string> names;
  for (const deploy::DescribedService& one : *described) {
    if (!one.name.empty()) names.push_back(one.name);
  }
  return report::fold(printable(fmt::format(
                          "{} no GPU, so nothing here can fail to fit this machine's.",
                          names.size() > 1 ? fmt::format("Its services ({}) use", join(names, ", "))
                                           : "Its service uses")),
                      "", style.width);
}

// What to type when this has been read.
std::string next_of(const EnvQuestion& question, bool advice, bool takes_gpu,
                    const report::Style& style) {
  if (advice) {
    return report::next_line("headroom check --env " + shell_quote(question.file),
                             "(again, when you have changed it)", style);
  }
  if (takes_gpu && question.file != "-") {
    return report::next_line("headroom deploy --init " + shell_quote(question.file),
                             "(starts it with a test under load, and goes back if that fails)",
                             style);
  }
  return report::next_line("headroom check", "(what limits this machine's GPUs)", style);
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
  auto described = deploy::read_service_file(question.file, *text);
  if (described) read_bases(question, *described);
  const auto services = described ? deploy::judge_services(*described, facts, diagnosis, tables)
                                  : std::vector<deploy::ServiceJudgement>();
  const bool advice = has_advice(judged) || deploy::has_misfit(services);
  if (question.json) {
    diagnosis.environment.insert(diagnosis.environment.end(), judged.begin(), judged.end());
    auto document = report::to_json(facts, diagnosis);
    document["services"] = report::services_json(services);
    context.printer.print_json_text(report::to_text(document));
  } else {
    const report::Style style{machine::stdout_shows_colour(), machine::stdout_width()};
    context.printer.print(
        question.quiet
            ? report::environment_tally(judged) + report::misfits_tally(services)
            : report::environment_text(question.file, facts, judged, style) +
                  report::services_text(services, style) + without_gpu(described, services, style) +
                  report::fit("\n" + next_of(question, advice, !services.empty(), style),
                              style.width));
  }
  return advice ? exit_findings : exit_ok;
}

}  // namespace headroom::cli
