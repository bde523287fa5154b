// SPDX-License-Identifier: Apache-2.0
#include "cli/check_env.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/document.h"
#include "base/shell_quote.h"
#include "base/text.h"
#include "deploy/service_judgement.h"
#include "knowledge/signatures.h"
#include "logs/log_reader.h"
#include "machine/standard_input.h"
#include "machine/terminal.h"
#include "machine/user_files.h"
#include "report/cause_text.h"
#include "report/check_json.h"
#include "report/environment_text.h"
#include "report/service_text.h"
#include "service/service_bases.h"

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
  // Two services may name the same file.
  std::set<std::tuple<std::string, int, std::string>> seen;
  for (const deploy::DescribedService& service : services) {
    for (const facts::Setting& one : service.inherited) {
      const bool fresh = seen.emplace(one.source.path, one.source.line, one.name).second;
      if (fresh || one.source.line == 0) settings.push_back(one);
    }
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
  bool trouble = false;      // The machine has a problem of its own.
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
  if (step.trouble) {
    return report::next_line(report::for_root("headroom check", question.root),
                             "(what is wrong with the machine, and what to do)", style);
  }
  for (const deploy::Elsewhere& one : not_read(described)) {
    if (one.is_base() || one.file.empty() || !one.why.empty()) continue;
    const std::string file = one.file.front() == '-' ? "./" + one.file : one.file;
    return report::next_line(
        report::for_root("headroom check --env " + shell_quote(file), question.root),
        "(what the service takes from there)", style);
  }
  if (step.takes_gpu && question.file != "-") {
    return report::next_line(
        "headroom deploy --init " + shell_quote(question.file),
        "(writes a file to fill in, with which headroom deploy starts it under test)", style);
  }
  return report::next_line(report::for_root("headroom check", question.root),
                           "(what limits this machine's GPUs)", style);
}

struct EnvAnswer {
  const std::vector<findings::Judgement>& judged;
  const std::vector<deploy::ServiceJudgement>& services;
  bool describes = false;  // The file describes services, whether or not they concern a GPU.
  // What is wrong with the machine, whatever the file says: check's first line. Empty: nothing.
  std::string machine = {};

  bool says_something() const {
    return !services.empty() || describes || report::has_gpu_settings(judged);
  }
};

// The file has the first word, then the machine, where the file is not to blame.
std::string first_lines(const EnvQuestion& question, const EnvAnswer& answer,
                        const report::Style& style) {
  if (!answer.says_something()) return "";
  std::string file = report::file_headline(question.file, answer.services, answer.judged, style);
  if (answer.machine.empty()) return file;
  return file + report::fold("But the machine itself is " + answer.machine, "", style.width);
}

std::string answer_text(const EnvQuestion& question, const facts::Facts& facts,
                        const EnvAnswer& answer, const report::Style& style) {
  std::string settings = report::environment_text(question.file, facts, answer.judged, style);
  if (!answer.says_something()) return settings;
  return first_lines(question, answer, style) +
         (report::has_gpu_settings(answer.judged) ? "\n" + settings : "") +
         report::services_text(answer.services, style);
}

// Whether the text is what programs and the kernel printed: a signature knows one of its lines as a
// failure, as noise or as progress. In a file of settings there is none.
bool is_log(const std::string& text, const std::string& name) {
  const auto signatures = knowledge::load_signatures();
  const auto matcher =
      signatures ? logs::Matcher::make(*signatures) : Result<logs::Matcher>(signatures.error());
  if (!matcher) return false;
  logs::Observations observations;
  logs::LogReader reader(*matcher, observations, 0, name);
  reader.feed(text);
  reader.finish();
  const auto& all = observations.all();
  return std::any_of(all.begin(), all.end(), [](const logs::Observation& one) {
    using knowledge::Role;
    const Role role = one.signature->role;
    return role == Role::failure || role == Role::consequence || role == Role::progress ||
           role == Role::noise;
  });
}

std::string log_text(const std::string& file, bool quiet, const report::Style& style) {
  if (quiet) return "a log, no settings\n";
  const std::string says = fmt::format(
      "{} is a log: it has lines that programs print, and no settings. --env reads unit files, "
      "compose files, scripts and lists of variables.",
      file == "-" ? "Standard input" : printable(file));
  return report::fold(says, "", style.width) + "\n" +
         report::next_line("headroom check --log " + shell_quote(file),
                           "(finds what went wrong in it)", style);
}

// The verdict alone.
std::string quiet_text(const EnvQuestion& question, const EnvAnswer& answer,
                       const report::Style& style) {
  return answer.says_something() ? first_lines(question, answer, style)
                                 : report::environment_tally(answer.judged);
}

// Check's first line, where the machine has a cause of its own that no file can mend.
std::string trouble_of(const findings::Diagnosis& diagnosis) {
  using findings::Verdict;
  const bool bad = diagnosis.verdict == Verdict::broken || diagnosis.verdict == Verdict::limited;
  if (!bad || !diagnosis.cause) return "";
  return fmt::format("{}: {}", to_string(diagnosis.verdict), printable(diagnosis.cause->title));
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
  service::build_on_files(question.file, described);
  auto settings = settings_in(question, *text, tables.knobs);
  add_inherited(described, settings);
  auto judged = findings::audit_knobs(settings, facts, tables);
  // A service's other files hold passwords and ports too, which nobody asked about.
  std::erase_if(judged, [&](const findings::Judgement& one) {
    return !one.ours && one.setting.source.path != question.file;
  });
  const auto services = deploy::judge_services(described, facts, diagnosis, tables);
  const bool advice = std::any_of(judged.begin(), judged.end(), findings::should_change) ||
                      deploy::has_misfit(services);
  const bool describes = !described.empty();
  const std::string trouble = advice ? "" : trouble_of(diagnosis);
  const NextStep step{advice, !services.empty(), has_no_gpu_for_rocm(facts, diagnosis),
                      !trouble.empty()};
  const EnvAnswer answer{judged, services, describes, trouble};
  if (question.json) {
    diagnosis.environment.insert(diagnosis.environment.end(), judged.begin(), judged.end());
    auto document = report::to_json(facts, diagnosis);
    document["services"] = report::services_json(services);
    const bool says = answer.says_something();
    document["file"] = {{"name", question.file},
                        {"verdict", says ? report::file_verdict(services, judged) : "no-settings"}};
    context.printer.print_json_text(report::to_text(document));
  } else {
    const report::Style style{machine::stdout_shows_colour(), machine::stdout_width()};
    const bool pasted_log = !answer.says_something() && is_log(*text, question.file);
    context.printer.print(
        pasted_log ? report::fit(log_text(question.file, question.quiet, style), style.width)
        : question.quiet
            ? quiet_text(question, answer, style)
            : answer_text(question, facts, answer, style) +
                  without_gpu(described, services, style) +
                  report::fit("\n" + next_of(question, step, described, style), style.width));
  }
  return advice ? exit_findings : exit_ok;
}

}  // namespace headroom::cli
