// SPDX-License-Identifier: Apache-2.0
#include "findings/step.h"

#include <algorithm>
#include <utility>

namespace headroom::findings {

std::string Step::whole() const {
  std::string words = is_look() ? "to see for yourself: " + text : text;
  if (!run.empty()) words += ": " + run;
  return remark.empty() ? words : words + "   " + remark;
}

Step command(std::string text, std::string remark) {
  return {Step::Kind::command, std::move(text), std::move(remark)};
}

Step sentence(std::string text) {
  return {Step::Kind::sentence, std::move(text), {}};
}

Step sentence_with(std::string text, std::string run) {
  return {Step::Kind::sentence, std::move(text), {}, std::move(run)};
}

Step look(std::string text, std::string remark) {
  return {Step::Kind::look, std::move(text), std::move(remark)};
}

Step reboot() {
  return command("sudo reboot");
}

void insert_before_reboot(Step step, std::vector<Step>& steps) {
  const auto place = std::find_if(steps.begin(), steps.end(), [](const Step& one) {
    return one.is_look() || one == reboot() || one == on_the_host(reboot());
  });
  steps.insert(place, std::move(step));
}

void explain_first(std::string text, std::vector<Step>& steps) {
  if (!steps.empty() && steps.front().is_command()) {
    Step& first = steps.front();
    first = {Step::Kind::sentence, std::move(text), std::move(first.remark), std::move(first.text)};
  } else if (!steps.empty()) {
    steps.front().text.insert(0, text + ". ");
  } else {
    steps.push_back(sentence(std::move(text)));
  }
}

Step on_the_host(Step step) {
  if (step.is_command()) return {Step::Kind::sentence, "On the host", step.remark, step.text};
  step.text.insert(0, "On the host: ");
  return step;
}

std::vector<Step> sentences(const std::vector<std::string>& texts) {
  std::vector<Step> steps;
  steps.reserve(texts.size());
  for (const std::string& text : texts) steps.push_back(sentence(text));
  return steps;
}

std::vector<std::string> texts_of(const std::vector<Step>& steps) {
  std::vector<std::string> texts;
  texts.reserve(steps.size());
  for (const Step& step : steps) texts.push_back(step.whole());
  return texts;
}

}  // namespace headroom::findings
