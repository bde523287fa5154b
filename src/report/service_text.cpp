// SPDX-License-Identifier: Apache-2.0
#include "report/service_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace headroom::report {
namespace {

using deploy::ServiceRemark;
using findings::Judgement;
using findings::KnobVerdict;

constexpr std::size_t mark_width = 15;  // Of the column with the answers, as for settings.

std::string words(ServiceRemark::Answer answer) {
  return answer == ServiceRemark::Answer::misfits ? "does not fit" : std::string(to_string(answer));
}

std::string painted(ServiceRemark::Answer answer, const Style& style) {
  const std::string word = words(answer);
  if (answer == ServiceRemark::Answer::misfits) return style.red(word);
  return answer == ServiceRemark::Answer::fits ? style.green(word) : style.bold(word);
}

std::string sentence(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text.empty() || text.back() == '.' ? text : text + ".";
}

std::string remark_text(const ServiceRemark& remark, const Style& style) {
  std::string text = "      " + style.bold(remark.about);
  if (!remark.value.empty()) text += "  " + keep_whole(printable(remark.value));
  if (remark.line > 0) text += style.dim(fmt::format("  (line {})", remark.line));
  text += "\n";
  const std::string mark = "        " + painted(remark.answer, style) +
                           std::string(mark_width - words(remark.answer).size(), ' ');
  text += fold(printable(sentence(remark.says)), mark, style.width);
  if (remark.advice.empty()) return text;
  return text + fold(printable(sentence(remark.advice)), std::string(8 + mark_width, ' ') + "-> ",
                     style.width);
}

bool is_misfit(const ServiceRemark& remark) {
  return remark.answer == ServiceRemark::Answer::misfits;
}

// Whether an image has code for the GPU, which its name does not say; whether a file that was not
// read gives the service a GPU.
bool is_doubt(const ServiceRemark& remark) {
  return (remark.about == "image" || remark.about == "devices") &&
         remark.answer == ServiceRemark::Answer::note && !remark.advice.empty();
}

using Selects = bool (*)(const ServiceRemark&);

std::vector<deploy::ServiceJudgement> with_those_alone(
    const std::vector<deploy::ServiceJudgement>& services, Selects selects) {
  std::vector<deploy::ServiceJudgement> selected;
  for (deploy::ServiceJudgement service : services) {
    std::erase_if(service.remarks, [&](const ServiceRemark& remark) { return !selects(remark); });
    if (!service.remarks.empty()) selected.push_back(std::move(service));
  }
  return selected;
}

std::string list_about(const deploy::ServiceJudgement& service) {
  std::vector<std::string> about;
  for (const ServiceRemark& remark : service.remarks) about.push_back(remark.about);
  return join(about, ", ");
}

// "image, devices of llm"
std::string parts_that(const std::vector<deploy::ServiceJudgement>& services, Selects selects) {
  std::vector<std::string> parts;
  for (const deploy::ServiceJudgement& service : with_those_alone(services, selects)) {
    const std::string of = service.name.empty() ? "" : " of " + printable(service.name);
    parts.push_back(list_about(service) + of);
  }
  return join(parts, "; ");
}

bool is_dangerous(const Judgement& one) {
  return one.verdict == KnobVerdict::dangerous;
}

// "HSA_XNACK, ttm.pages_limit and 2 more" of the settings that are asked for.
std::string names_of(const std::vector<Judgement>& settings,
                     const std::function<bool(const Judgement&)>& selects) {
  constexpr std::size_t shown = 3;
  std::vector<std::string> names;
  for (const Judgement& one : settings) {
    const std::string name =
        printable(one.is_option() ? one.name.substr(one.name.find(':') + 1) : one.name);
    if (selects(one) && std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  }
  const std::size_t more = names.size() > shown ? names.size() - shown : 0;
  names.resize(names.size() - more);
  return join(names, ", ") + (more == 0 ? "" : fmt::format(" and {} more", more));
}

}  // namespace

std::string services_text(const std::vector<deploy::ServiceJudgement>& services,
                          const Style& style) {
  std::string text;
  for (const deploy::ServiceJudgement& service : services) {
    const std::string name = service.name.empty() ? "" : " " + printable(service.name);
    text += "\n" + style.bold("The service" + name + " on this machine") + "\n";
    for (const ServiceRemark& remark : service.remarks) text += remark_text(remark, style);
  }
  return fit(text, style.width);
}

std::string_view file_verdict(const std::vector<deploy::ServiceJudgement>& services,
                              const std::vector<findings::Judgement>& settings) {
  if (deploy::has_misfit(services)) return "does-not-fit";
  if (std::any_of(settings.begin(), settings.end(), is_dangerous)) return "dangerous";
  if (!with_those_alone(services, is_doubt).empty()) return "not-certain";
  return std::any_of(settings.begin(), settings.end(), findings::should_change)
             ? "settings-to-change"
             : "ok";
}

std::string file_headline(const std::string& file,
                          const std::vector<deploy::ServiceJudgement>& services,
                          const std::vector<findings::Judgement>& settings, const Style& style) {
  const std::string name = file == "-" ? "the file" : printable(file);
  const auto say = [&](const std::string& answer, const std::string& what) {
    return fold(name + what, answer + ": ", style.width);
  };
  const std::string danger = names_of(settings, is_dangerous);
  const std::string_view verdict = file_verdict(services, settings);
  if (verdict == "does-not-fit") {
    return say(style.red("does not fit"), ": " + parts_that(services, is_misfit) +
                                              (danger.empty() ? "" : "; and dangerous: " + danger));
  }
  if (verdict == "dangerous") return say(style.red("dangerous"), ": " + danger);
  if (verdict == "not-certain") {
    return say(style.yellow("not certain"), ": " + parts_that(services, is_doubt));
  }
  if (verdict == "ok") {
    return say(style.green("ok"), ": headroom found nothing that does not fit this machine");
  }
  return say(style.yellow("settings to change"),
             ": " + names_of(settings, findings::should_change) +
                 (services.empty() ? "" : "; otherwise its services fit this machine"));
}

std::string misfits_text(const std::vector<deploy::ServiceJudgement>& services,
                         const Style& style) {
  return services_text(with_those_alone(services, is_misfit), style);
}

nlohmann::ordered_json services_json(const std::vector<deploy::ServiceJudgement>& services) {
  using Ordered = nlohmann::ordered_json;
  Ordered list = Ordered::array();
  for (const deploy::ServiceJudgement& service : services) {
    Ordered remarks = Ordered::array();
    for (const ServiceRemark& remark : service.remarks) {
      remarks.push_back(
          {{"about", remark.about},
           {"value", remark.value.empty() ? Ordered(nullptr) : Ordered(remark.value)},
           {"verdict", to_string(remark.answer)},
           {"says", remark.says},
           {"advice", remark.advice.empty() ? Ordered(nullptr) : Ordered(remark.advice)},
           {"line", remark.line == 0 ? Ordered(nullptr) : Ordered(remark.line)}});
    }
    list.push_back({{"name", service.name}, {"remarks", std::move(remarks)}});
  }
  return list;
}

}  // namespace headroom::report
