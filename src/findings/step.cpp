// SPDX-License-Identifier: Apache-2.0
#include "findings/step.h"

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

Step on_the_host(Step step) {
  step.text.insert(0, "on the host: ");
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
