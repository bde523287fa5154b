// SPDX-License-Identifier: Apache-2.0
#include "run/proof/prove_together.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "proof/device_pairing.h"
#include "proof/step_kinds.h"
#include "run/proof/step_process.h"

namespace headroom::run {
namespace {

using proof::JoinedStep;
using proof::StepResult;

constexpr const char* nccl = "nccl";
constexpr const char* gloo = "gloo";
constexpr const char* without_peers = "NCCL_P2P_DISABLE=1";
constexpr std::size_t ranks_on_processor = 2;

struct Member {
  std::string asked_by;  // "cuda:0", "cpu".
  std::string device;
};
using Members = std::vector<Member>;

class Together {
 public:
  Together(const StepHost& host, proof::TogetherReport& report, Members members)
      : host_(host), report_(report), members_(std::move(members)) {}

  Status run() {
    if (report_.on_gpu) HEADROOM_CHECK(copy());
    HEADROOM_CHECK(reduce());
    HEADROOM_CHECK(train());
    return step(proof::data_parallel_step, members_);
  }

 private:
  Status copy() {
    for (const Member& from : members_) {
      for (const Member& to : members_) {
        if (&from != &to) HEADROOM_CHECK(step(proof::peer_step, {from, to}));
      }
    }
    return Done{};
  }

  // Of more than two GPUs whose sum fails, each pair tells which of them it is.
  Status reduce() {
    if (!is_chosen(proof::nccl_step) && !is_chosen(proof::gloo_step)) {
      backend_ = report_.on_gpu ? nccl : gloo;
      return Done{};
    }
    if (report_.on_gpu && is_chosen(proof::nccl_step)) {
      HEADROOM_CHECK(step(proof::nccl_step, members_, nccl));
      if (passed()) {
        backend_ = nccl;
      } else {
        if (members_.size() > 2) HEADROOM_CHECK(reduce_pairs());
        environment_ = {without_peers};
        HEADROOM_CHECK(step(proof::no_peers_step, members_, nccl));
        if (passed()) {
          backend_ = nccl;
        } else {
          environment_.clear();
        }
      }
    }
    const auto kept = std::exchange(environment_, {});
    HEADROOM_CHECK(step(proof::gloo_step, members_, gloo));
    environment_ = kept;
    if (backend_.empty() && is_chosen(proof::gloo_step) && passed()) backend_ = gloo;
    return Done{};
  }

  Status reduce_pairs() {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      for (std::size_t j = i + 1; j < members_.size(); ++j)
        HEADROOM_CHECK(step(proof::nccl_step, {members_[i], members_[j]}, nccl));
    }
    return Done{};
  }

  Status train() {
    for (const std::string_view name : {proof::ddp_step, proof::fsdp_step}) {
      if (!is_chosen(name)) continue;
      if (backend_.empty()) {
        skip(name, members_, "no backend's sums are right, and it is made of them");
      } else if (name == proof::fsdp_step && report_.on_gpu && backend_ == gloo) {
        skip(name, members_, "on GPUs it needs NCCL or RCCL, whose sums failed");
      } else {
        HEADROOM_CHECK(step(name, members_, backend_));
        add_backend();
      }
    }
    return Done{};
  }

  void add_backend() {
    StepResult& result = report_.steps.back().result;
    result.detail += (result.detail.empty() ? "by " : "; by ") + backend_;
    if (!environment_.empty()) result.detail += fmt::format(" with {}", environment_.front());
  }

  void skip(std::string_view name, const Members& between, const std::string& reason) {
    StepResult result;
    result.name = std::string(name);
    result.detail = reason;
    add(std::move(result), between);
  }

  void add(StepResult result, const Members& between) {
    JoinedStep joined;
    joined.result = std::move(result);
    for (const Member& one : between) joined.between.push_back(one.device);
    report_.steps.push_back(std::move(joined));
  }

  bool is_chosen(std::string_view name) const {
    return host_.steps.empty() ||
           std::find(host_.steps.begin(), host_.steps.end(), name) != host_.steps.end();
  }

  bool passed() const { return report_.steps.back().result.ok.value_or(false); }

  // How long the ranks may stand still: less than the step, so that they are told apart.
  std::string patience(std::string_view name) const {
    const auto limit = host_.limit.value_or(proof::find_step(name)->limit).count();
    constexpr long rest_s = 20, parts = 2;
    return std::to_string(std::max(limit - rest_s, limit / parts));
  }

  Status step(std::string_view name, const Members& between, const std::string& backend = gloo) {
    // What is tried because another step failed was not asked for by name.
    if (name != proof::no_peers_step && !is_chosen(name)) return Done{};
    if (holds_device_) {
      skip(name, between, "the step that hung still holds a device");
      return Done{};
    }
    std::vector<std::string> asked, shown;
    for (const Member& one : between) {
      asked.push_back(one.asked_by);
      shown.push_back(one.device);
    }
    StepHost host = host_;
    host.environment.insert(host.environment.end(), environment_.begin(), environment_.end());
    HEADROOM_TRY(EndedSteps ended,
                 run_steps(host,
                           {"together", "torch", join(asked, ","), std::string(name), "--backend",
                            backend, "--seconds", patience(name)},
                           join(shown, ", "), report_.on_gpu));
    holds_device_ = !ended.has_ended;
    add(result_of(ended, name), between);
    report_.steps.back().is_hung = ended.is_hung;
    return Done{};
  }

  static StepResult result_of(EndedSteps& ended, std::string_view name) {
    if (!ended.results.empty()) return std::move(ended.results.front());
    StepResult result;
    result.detail = "its result did not arrive";
    if (ended.failed) result = *std::move(ended.failed);
    result.name = std::string(name);
    result.ok = false;
    return result;
  }

  const StepHost& host_;
  proof::TogetherReport& report_;
  Members members_;
  std::string backend_;                   // For what is made of sums; empty: none works.
  std::vector<std::string> environment_;  // That the backend needs.
  bool holds_device_ = false;
};

Error no_torch(const StepHost& host, const EndedSteps& asked) {
  return Error{Errc::not_found,
               fmt::format("{}: expected PyTorch, whose devices work together, found none that "
                           "tells its devices{}",
                           host.python, asked.failed ? " (" + asked.failed->detail + ")" : ""),
               "headroom test --multi --python /path/to/venv, or headroom fix stack"};
}

}  // namespace

Result<proof::TogetherReport> prove_together(const StepHost& host) {
  HEADROOM_TRY(const EndedSteps asked, run_steps(host, {"devices", "torch"}, "", true));
  if (!asked.devices) return no_torch(host, asked);
  proof::TogetherReport report;
  report.python = host.python;
  report.framework = "PyTorch " + asked.version;
  const proof::Pairing pairing = proof::pair_devices(*asked.devices, host.facts);
  report.on_gpu = pairing.devices.size() > 1;
  Members members;
  for (const proof::DeviceToTest& device : pairing.devices) {
    if (!report.on_gpu) break;
    members.push_back({device.asked_by, device.device});
    report.devices.push_back({device.device, device.name});
  }
  for (const facts::Gpu* gpu : pairing.unseen) {
    report.remarks.push_back(
        fmt::format("{} at {} took no part: PyTorch does not see it", gpu->name, gpu->pci));
  }
  if (!report.on_gpu) {
    report.remarks.push_back(
        fmt::format("PyTorch sees {}, so nothing between GPUs was tested: two ranks on the "
                    "processor were",
                    pairing.devices.empty() ? "no GPU" : "one GPU"));
    for (std::size_t i = 0; i < ranks_on_processor; ++i) {
      members.push_back({"cpu", "cpu"});
      report.devices.push_back({"cpu", "the processor"});
    }
  }
  HEADROOM_CHECK(Together(host, report, std::move(members)).run());
  proof::explain(host.diagnosis, report);
  return report;
}

}  // namespace headroom::run
