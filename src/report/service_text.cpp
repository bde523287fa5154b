// SPDX-License-Identifier: Apache-2.0
#include "report/service_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace headroom::report {
namespace {

using deploy::ServiceRemark;

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

std::vector<deploy::ServiceJudgement> with_misfits_alone(
    const std::vector<deploy::ServiceJudgement>& services) {
  std::vector<deploy::ServiceJudgement> wrong;
  for (deploy::ServiceJudgement service : services) {
    std::erase_if(service.remarks, [](const ServiceRemark& remark) {
      return remark.answer != ServiceRemark::Answer::misfits;
    });
    if (!service.remarks.empty()) wrong.push_back(std::move(service));
  }
  return wrong;
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

std::string misfits_text(const std::vector<deploy::ServiceJudgement>& services,
                         const Style& style) {
  return services_text(with_misfits_alone(services), style);
}

std::string misfits_tally(const std::vector<deploy::ServiceJudgement>& services) {
  std::string text;
  for (const deploy::ServiceJudgement& service : with_misfits_alone(services)) {
    std::vector<std::string> about;
    for (const ServiceRemark& remark : service.remarks) about.push_back(remark.about);
    text += fmt::format("{}: does not fit: {}\n",
                        service.name.empty() ? "the service" : printable(service.name),
                        join(about, ", "));
  }
  return text;
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
