// SPDX-License-Identifier: Apache-2.0
#include "tune/worth.h"

#include <fmt/format.h>

#include <vector>

#include "base/require.h"
#include "base/text.h"

namespace headroom::tune {
namespace {

constexpr double ms_an_hour = 3.6e6;

std::string what_is_missing(const WorthQuestion& question) {
  std::vector<std::string> missing;
  if (!question.gpu_price) missing.emplace_back("--gpu-price");
  if (!question.gpu_watts) missing.emplace_back("--gpu-watts");
  if (!question.electricity) missing.emplace_back("--electricity");
  if (!question.cpu_watts) missing.emplace_back("--cpu-watts");
  return missing.empty() ? "" : "it takes " + join(missing, ", ") + " to say when it pays";
}

}  // namespace

Worth worth_of(const WorthQuestion& question, double item_ms) {
  require(question.items_per_day && question.faster && *question.faster > 0,
          "the items and the speed-up are known");
  Worth worth;
  worth.question = question;
  worth.item_ms = item_ms;
  worth.cpu_hours = *question.items_per_day * item_ms / ms_an_hour;
  worth.gpu_hours = worth.cpu_hours / *question.faster;
  if (question.cpu_watts) worth.cpu_kwh = worth.cpu_hours * *question.cpu_watts / 1000;
  if (question.gpu_watts) worth.gpu_kwh = worth.gpu_hours * *question.gpu_watts / 1000;
  if (worth.cpu_kwh && worth.gpu_kwh && question.electricity)
    worth.saved_a_day = (*worth.cpu_kwh - *worth.gpu_kwh) * *question.electricity;
  worth.why_not = what_is_missing(question);
  if (!worth.why_not.empty()) return worth;
  if (*worth.saved_a_day > 0) {
    worth.pays_after_days = *question.gpu_price / *worth.saved_a_day;
  } else {
    worth.why_not = "never: it saves no electricity";
  }
  return worth;
}

}  // namespace headroom::tune
