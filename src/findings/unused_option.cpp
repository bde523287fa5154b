// SPDX-License-Identifier: Apache-2.0
// unused-option: pages_limit is set for a TTM that the driver does not use. AMD's DKMS driver
// brings its own, amdttm; then an option for ttm changes nothing, and no message says so.
#include <fmt/format.h>

#include "findings/rules.h"

namespace headroom::findings {

namespace {

std::vector<Finding> find(const Subject& subject) {
  const facts::MachineFacts& machine = subject.facts.machine;
  const std::string other = machine.ttm_module == "ttm" ? "amdttm" : "ttm";
  const auto* unused = machine.option(other, "pages_limit");
  const bool also_right = machine.option(machine.ttm_module, "pages_limit") != nullptr;
  if (unused == nullptr || also_right || !machine.pages_limit || subject.facts.gpus.empty())
    return {};
  Finding finding;
  finding.id = "unused-option";
  finding.severity = Severity::warning;
  finding.title =
      fmt::format("{}.pages_limit is set, but the driver uses {}", other, machine.ttm_module);
  finding.evidence = {{unused->source.path, unused->source.line, unused->source.text, "the option"},
                      show(machine.pages_limit, "the limit in force, of " + machine.ttm_module +
                                                    ": " + to_string(*machine.pages_limit))};
  finding.fix = {sentence(fmt::format("Set {}.pages_limit={} instead, then reboot.",
                                      machine.ttm_module, unused->value))};
  finding.next = NextCommand::check();
  return {finding};
}

}  // namespace

constinit const Rule unused_option_rule = {
    .id = "unused-option",
    .meaning = "A TTM option is set for a module that the driver does not use.",
    .why =
        "AMD's DKMS driver has its own TTM, amdttm. An option for ttm then changes nothing, and no "
        "message says so.",
    .fix = "Set the option for the module that is in use.",
    .find = find,
};

}  // namespace headroom::findings
