// SPDX-License-Identifier: Apache-2.0
#include "run/proof/device_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "proof/step_kinds.h"
#include "proof/wrong_step.h"
#include "run/proof/soak_steps.h"
#include "run/proof/step_process.h"

namespace headroom::run {
namespace {

using proof::StepResult;

constexpr int most_hangs = 2;  // Each takes minutes, and the device will not answer to others.

StepResult skip(std::string_view name, const std::string& reason) {
  StepResult result;
  result.name = std::string(name);
  result.detail = reason;
  return result;
}

bool is_chosen(const StepHost& host, std::string_view name) {
  return host.steps.empty() ||
         std::find(host.steps.begin(), host.steps.end(), name) != host.steps.end();
}

// The framework is loaded for any of them.
std::vector<std::string> chosen_steps(const StepHost& host) {
  std::vector<std::string> names;
  for (const proof::StepKind& kind : proof::step_kinds()) {
    if (kind.name == proof::import_step || is_chosen(host, kind.name))
      names.emplace_back(kind.name);
  }
  return names;
}

const knowledge::Card* card_of(const proof::DeviceToTest& device,
                               std::optional<knowledge::Card>& card) {
  // A partition is a part of a card.
  if (!device.on_gpu() || (device.gpu != nullptr && device.gpu->partition)) return nullptr;
  if (auto found = knowledge::find_card(device.name)) card = *std::move(found);
  return card ? &*card : nullptr;
}

class DeviceSteps {
 public:
  DeviceSteps(const StepHost& host, const proof::Framework& framework,
              const proof::DeviceToTest& device)
      : host_(host), framework_(framework), device_(device), left_(chosen_steps(host)) {}

  Result<std::vector<StepResult>> run() {
    while (!left_.empty()) {
      HEADROOM_TRY(EndedSteps ended, run_steps(host_, words(), device_.device, device_.on_gpu()));
      take_results(ended);
      take_failure(ended);
    }
    sort();
    judge();
    if (host_.soak.count() > 0) HEADROOM_CHECK(soak());
    return std::move(results_);
  }

 private:
  std::vector<std::string> words() const {
    std::vector<std::string> steps = left_;
    std::erase(steps, std::string(proof::import_step));
    return {"run",
            std::string(framework_.id),
            device_.asked_by,
            join(steps, ","),
            "--bytes",
            std::to_string(device_.memory.value),
            "--training-steps",
            std::to_string(host_.training_steps)};
  }

  // A step counts once: each process loads the framework anew.
  void add(StepResult result) {
    if (std::erase(left_, result.name) > 0) results_.push_back(std::move(result));
  }

  void take_results(EndedSteps& ended) {
    for (StepResult& result : ended.results) add(std::move(result));
  }

  void take_failure(EndedSteps& ended) {
    if (!ended.failed) return skip_all("its result did not arrive");
    if (left_.empty()) return;
    StepResult& failed = *ended.failed;
    const bool is_loaded = left_.front() != proof::import_step;
    if (failed.name.empty()) failed.name = left_.front();  // It died between the two.
    const bool in_import = failed.name == proof::import_step;
    const std::string reason = failed.detail;
    add(std::move(failed));
    const std::string name(framework_.name);
    if (in_import && is_loaded) return skip_all(name + " could not be loaded again: " + reason);
    if (in_import) is_unloaded_ = true;
    if (in_import) return skip_all(name + " could not be loaded");
    hangs_ += ended.is_hung ? 1 : 0;
    if (!ended.has_ended) holds_device_ = true;
    if (!ended.has_ended) return skip_all("the step that hung still holds the device");
    if (hangs_ >= most_hangs) skip_all(fmt::format("{} steps before it hung", hangs_));
  }

  void skip_all(const std::string& reason) {
    for (const std::string& name : std::exchange(left_, {})) results_.push_back(skip(name, reason));
  }

  void sort() {
    const auto place = [](const StepResult& result) { return proof::find_step(result.name); };
    std::sort(results_.begin(), results_.end(),
              [&place](const auto& one, const auto& other) { return place(one) < place(other); });
  }

  void judge() {
    std::optional<knowledge::Card> found;
    const knowledge::Card* card = card_of(device_, found);
    if (!device_.on_gpu()) return;
    for (StepResult& result : results_) proof::judge_speed(card, result);
  }

  // After all others: it takes the longest, and what they found explains what it finds.
  Status soak() {
    if (!is_chosen(host_, proof::soak_step)) return Done{};
    std::string reason;
    if (is_unloaded_) reason = std::string(framework_.name) + " could not be loaded";
    if (holds_device_) reason = "the step that hung still holds the device";
    if (framework_.id != "torch") reason = "only PyTorch's load goes on for so long";
    if (!reason.empty()) {
      for (const proof::StepKind& kind : proof::soak_kinds())
        results_.push_back(skip(kind.name, reason));
      return Done{};
    }
    HEADROOM_TRY(auto steps, soak_device(host_, framework_, device_));
    for (StepResult& step : steps) results_.push_back(std::move(step));
    return Done{};
  }

  const StepHost& host_;
  const proof::Framework& framework_;
  const proof::DeviceToTest& device_;
  std::vector<std::string> left_;
  std::vector<StepResult> results_;
  int hangs_ = 0;
  bool holds_device_ = false;
  bool is_unloaded_ = false;
};

}  // namespace

Result<std::vector<StepResult>> test_device(const StepHost& host, const proof::Framework& framework,
                                            const proof::DeviceToTest& device) {
  return DeviceSteps(host, framework, device).run();
}

std::vector<StepResult> only_import(const StepHost& host, StepResult import,
                                    const std::string& reason) {
  std::vector<StepResult> steps;
  import.name = std::string(proof::import_step);
  steps.push_back(std::move(import));
  for (const std::string& name : chosen_steps(host)) {
    if (name != proof::import_step) steps.push_back(skip(name, reason));
  }
  if (host.soak.count() > 0 && is_chosen(host, proof::soak_step)) {
    for (const proof::StepKind& kind : proof::soak_kinds())
      steps.push_back(skip(kind.name, reason));
  }
  return steps;
}

}  // namespace headroom::run
