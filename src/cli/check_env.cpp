// SPDX-License-Identifier: Apache-2.0
#include "cli/check_env.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/document.h"
#include "base/shell_quote.h"
#include "base/text.h"
#include "cli/compose_files.h"
#include "deploy/service_judgement.h"
#include "machine/standard_input.h"
#include "machine/terminal.h"
#include "machine/user_files.h"
#include "report/cause_text.h"
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

// Variables that services have from other files.
void add_inherited(const std::vector<deploy::DescribedService>& services,
                   std::vector<facts::Setting>& settings) {
  for (const deploy::DescribedService& service : services) {
    settings.insert(settings.end(), service.inherited.begin(), service.inherited.end());
  }
}

using Described = std::vector<deploy::DescribedService>;

// What the services take from places that were not read.
std::vector<deploy::Elsewhere> not_read(const Described& described) {
  std::vector<deploy::Elsewhere> places;
  for (const deploy::DescribedService& one : described) {
    deploy::add_elsewhere(one.elsewhere, places);
  }
  std::erase_if(places, [](const deploy::Elsewhere& one) { return one.refused; });
  return places;
}

// Of services that are nothing to an AMD GPU, so that silence is not taken for a doubt.
std::string without_gpu(const Described& described,
                        const std::vector<deploy::ServiceJudgement>& judged,
                        const report::Style& style) {
  if (described.empty() || !judged.empty()) return "";
  std::vector<std::string> names, places;
  for (const deploy::DescribedService& one : described) {
    if (!one.name.empty()) names.push_back(one.name);
  }
  for (const deploy::Elsewhere& one : not_read(described)) places.push_back(deploy::describe(one));
  const std::string says =
      fmt::format("{} no image for ROCm, no /dev/kfd and no /dev/dri{}",
                  names.size() > 1 ? fmt::format("Its services ({}) name", join(names, ", "))
                                   : "Its service names",
                  places.empty() ? ": nothing in it asks for an AMD GPU."
                                 : fmt::format(" in this file. Not read: {}.", join(places, ", ")));
  return report::fold(printable(says), "", style.width);
}

// The command that starts what the file describes.
std::string start_command(const std::string& file, const deploy::DescribedService& first) {
  if (first.kind == deploy::FileKind::compose) {
    const bool found_by_name = file == "compose.yaml" || file == "compose.yml" ||
                               file == "docker-compose.yaml" || file == "docker-compose.yml";
    return "docker compose " + (found_by_name ? "" : "-f " + shell_quote(file) + " ") + "up -d";
  }
  const std::string systemctl = file.starts_with("/etc/") || file.starts_with("/usr/")
                                    ? "sudo systemctl"
                                    : "systemctl --user";
  return fmt::format("{0} daemon-reload && {0} start {1}", systemctl, shell_quote(first.name));
}

// No GPU here can run ROCm.
bool has_no_gpu_for_rocm(const facts::Facts& facts, const findings::Diagnosis& diagnosis) {
  return facts.gpus.empty() || diagnosis.verdict == findings::Verdict::unsuitable;
}

// What to type when this has been read.
struct NextStep {
  bool advice = false;       // Something in the file should change.
  bool takes_gpu = false;    // A service in it asks for the GPU.
  bool without_gpu = false;  // And there is none here that could run it.
};

std::string next_of(const EnvQuestion& question, const NextStep& step, const Described& described,
                    const report::Style& style) {
  const bool captured = question.root != "/";
  if (step.advice) {
    return report::next_line(
        report::for_root("headroom check --env " + shell_quote(question.file), question.root),
        "(again, when you have changed it)", style);
  }
  if (step.without_gpu && !described.empty() && question.file != "-") {
    return report::next_line(
        (captured ? "on that machine: " : "") + start_command(question.file, described.front()),
        "(starts it; nothing in it asks for ROCm)", style);
  }
  for (const deploy::Elsewhere& one : not_read(described)) {
    if (one.is_base() || one.file.empty() || !one.why.empty()) continue;
    const std::string file = one.file.front() == '-' ? "./" + one.file : one.file;
    return report::next_line(
        report::for_root("headroom check --env " + shell_quote(file), question.root),
        "(what the service takes from there)", style);
  }
  if (step.takes_gpu && question.file != "-") {
    return report::next_line("headroom deploy --init " + shell_quote(question.file),
                             "(starts it with a test under load, and goes back if that fails)",
                             style);
  }
  return report::next_line(report::for_root("headroom check", question.root),
                           "(what limits this machine's GPUs)", style);
}

struct EnvAnswer {
  const std::vector<findings::Judgement>& judged;
  const std::vector<deploy::ServiceJudgement>& services;
  bool describes = false;  // The file describes services, whether or not they concern a GPU.
  bool advice = false;     // Something in it should change.
};

// Services have the first word: whether they fit is what their file is asked about.
std::string answer_text(const EnvQuestion& question, const facts::Facts& facts,
                        const EnvAnswer& answer, const report::Style& style) {
  const auto& [judged, services, describes, advice] = answer;
  std::string settings = report::environment_text(question.file, facts, judged, style);
  if (services.empty() && (!describes || report::has_gpu_settings(judged))) return settings;
  return report::services_headline(question.file, services, advice, style) +
         (report::has_gpu_settings(judged) ? "\n" + settings : "") +
         report::services_text(services, style);
}

// Something in the snippet should change.
bool has_advice(const std::vector<findings::Judgement>& judged) {
  return std::any_of(judged.begin(), judged.end(), [](const findings::Judgement& one) {
    return one.ours && one.verdict != findings::KnobVerdict::keep;
  });
}

// The verdict alone: of the settings, and of the services where the file describes some.
std::string quiet_text(const EnvQuestion& question, const EnvAnswer& answer,
                       const report::Style& style) {
  const auto& [judged, services, describes, advice] = answer;
  const bool settings = report::has_gpu_settings(judged) || !describes;
  const std::string tally = settings ? report::environment_tally(judged) : "";
  if (deploy::has_misfit(services)) return tally + report::misfits_tally(services);
  return describes && !advice
             ? tally + report::services_headline(question.file, services, advice, style)
             : tally;
}

}  // namespace

int answer_env(const EnvQuestion& question, const facts::Facts& facts,
               findings::Diagnosis diagnosis, const knowledge::GpuTables& tables,
               const Context& context) {
  const auto text = read_snippet(question.file);
  if (!text) return print_error(context, text.error(), exit_usage);
  // A quadlet or a compose file that cannot be read: what else it says does not matter yet.
  auto read = deploy::read_service_file(question.file, *text);
  if (!read) return print_error(context, read.error(), exit_usage);
  Described described = *std::move(read);
  build_on_files(question.file, described);
  auto settings = settings_in(question, *text, tables.knobs);
  add_inherited(described, settings);
  auto judged = findings::audit_knobs(settings, facts, tables);
  // A service's other files hold passwords and ports too, which nobody asked about.
  std::erase_if(judged, [&](const findings::Judgement& one) {
    return !one.ours && one.setting.source.path != question.file;
  });
  const auto services = deploy::judge_services(described, facts, diagnosis, tables);
  const bool advice = has_advice(judged) || deploy::has_misfit(services);
  const bool describes = !described.empty();
  const NextStep step{advice, !services.empty(), has_no_gpu_for_rocm(facts, diagnosis)};
  if (question.json) {
    diagnosis.environment.insert(diagnosis.environment.end(), judged.begin(), judged.end());
    auto document = report::to_json(facts, diagnosis);
    document["services"] = report::services_json(services);
    context.printer.print_json_text(report::to_text(document));
  } else {
    const report::Style style{machine::stdout_shows_colour(), machine::stdout_width()};
    context.printer.print(
        question.quiet
            ? quiet_text(question, {judged, services, describes, advice}, style)
            : answer_text(question, facts, {judged, services, describes, advice}, style) +
                  without_gpu(described, services, style) +
                  report::fit("\n" + next_of(question, step, described, style), style.width));
  }
  return advice ? exit_findings : exit_ok;
}

}  // namespace headroom::cli
