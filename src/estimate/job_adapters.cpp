// SPDX-License-Identifier: Apache-2.0
#include "estimate/job_adapters.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/document.h"
#include "estimate/job_words.h"

namespace headroom::estimate {
namespace {

// In the order of Target.
const std::vector<std::string> target_names = {
    "q", "k", "v", "o", "gate", "up", "down", "embed_tokens", "lm_head"};
constexpr std::size_t projections = 7;

void read_targets(TableReader& method, Job::Method& into) {
  std::vector<std::string> names(target_names.begin(), target_names.begin() + projections);
  const Json* given = method.find("targets");
  // In a list PEFT takes it for the name of a module, of which there is none.
  into.all_linear = given != nullptr && (*given == "all-linear" || *given == Json{"all-linear"});
  if (into.all_linear)
    names = {"all-linear"};
  else
    method.read("targets", names);
  std::vector<Target>& targets = into.targets;
  targets.clear();
  for (const std::string& name : names) {
    const std::vector<Target> meant = targets_of(name);
    const bool twice = std::count(names.begin(), names.end(), name) > 1;
    if (name == "all-linear" && names.size() > 1) {
      method.fail("targets", Errc::invalid,
                  "expected \"all-linear\" by itself, found it beside other names, where PEFT "
                  "takes it for a module's own",
                  "write targets = \"all-linear\", or [\"q\", \"k\", \"v\", \"o\", \"gate\", "
                  "\"up\", \"down\", \"lm_head\"]");
      return;
    }
    if (meant.empty() || twice) {
      method.fail("targets", Errc::invalid,
                  fmt::format("expected some of q, k, v, o, gate, up, down, embed_tokens and "
                              "lm_head, each once, or the names of such modules, found \"{}\"{}",
                              name.substr(0, 40), meant.empty() ? "" : " twice"),
                  "write targets = [\"q\", \"v\"]");
      return;
    }
    for (const Target target : meant)
      if (std::count(targets.begin(), targets.end(), target) == 0) targets.push_back(target);
  }
  if (names.empty()) {
    method.fail("targets", Errc::invalid, "expected at least one projection, found none",
                "write targets = [\"q\", \"v\"]");
  }
}

void read_modules_to_save(TableReader& method, Job::Method& into) {
  std::vector<std::string> names;
  method.read("modules_to_save", names);
  if (names.empty()) return;
  const auto refuse = [&method](std::string_view expected, std::string_view found,
                                const char* next) {
    method.fail("modules_to_save", Errc::invalid,
                fmt::format("expected {}, found \"{}\"", expected, found.substr(0, 40)), next);
  };
  if (into.kind != MethodKind::lora && into.kind != MethodKind::qlora)
    return refuse("method.kind = \"lora\" or \"qlora\" beside it", to_string(into.kind),
                  "leave it out: all of the model is trained, or nothing");
  for (const std::string& name : names) {
    const std::vector<Target> meant = targets_of(name);
    if (meant.size() != 1 || is_in_layers(meant.front()))
      return refuse("embed_tokens and lm_head, or what a family calls them", name,
                    "write modules_to_save = [\"embed_tokens\", \"lm_head\"]");
    const auto has = [&meant](const std::vector<Target>& all) {
      return std::find(all.begin(), all.end(), meant.front()) != all.end();
    };
    if (has(into.targets))
      return refuse("modules without adapters", name, "leave it out of targets, or out of these");
    if (!has(into.modules_to_save)) into.modules_to_save.push_back(meant.front());
  }
}

}  // namespace

std::string_view to_string(Target target) {
  return target_names.at(static_cast<std::size_t>(target));
}

void read_adapted_modules(TableReader& method, Job::Method& into) {
  read_targets(method, into);
  read_modules_to_save(method, into);
}

}  // namespace headroom::estimate
