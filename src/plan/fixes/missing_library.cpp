// SPDX-License-Identifier: Apache-2.0
// missing-library: libdrm_amdgpu.so without its version, which amdsmi and what is built on it open
// by that name (ROCm/amdsmi#142), is in the -dev package alone; and amdgpu.ids under /opt/amdgpu,
// where the libdrm inside PyTorch's wheels looks for card names (ROCm/pytorch#984). Links stand
// where the administrator's files belong, never under /usr/lib.
#include <fmt/format.h>

#include "plan/fixes/every_fix.h"
#include "plan/fixes/places.h"

namespace headroom::plan {
namespace {

constexpr std::string_view id = "missing-library";
constexpr const char* ids_in_opt = "/opt/amdgpu/share/libdrm/amdgpu.ids";

Step make_link(const std::string& path, const std::string& target, std::string why) {
  Step step;
  step.kind = StepKind::link;
  step.what = fmt::format("Link {} to {}", path, target);
  step.why = std::move(why);
  step.action = LinkEdit{path, std::nullopt, target};
  return step;
}

void add_ldconfig(Change& change) {
  Command command;
  command.argv = {"ldconfig"};
  command.generates = {"/etc/ld.so.cache"};
  command.undo = {"ldconfig"};
  command.undo_run = UndoRun::if_changed;
  Step step;
  step.kind = StepKind::link;
  step.what = "Tell the loader about it";
  step.action = std::move(command);
  change.steps.push_back(std::move(step));
}

Result<Change> make(const FixSubject& subject) {
  const facts::SystemLibraries* libraries = subject.libraries;
  if (libraries == nullptr || !libraries->libdrm_amdgpu) {
    return not_needed(id,
                      "libdrm_amdgpu.so.1 is missing. Your distribution's package libdrm-amdgpu1, "
                      "libdrm or libdrm_amdgpu1 contains it");
  }
  if (subject.facts.gpus.empty()) return not_needed(id, "there is no AMD GPU here");
  const facts::LibraryFolder& folder = *libraries->libdrm_amdgpu;
  Change change;
  change.fix = id;
  change.title = "Link libdrm's library and table to the names that GPU programs look for";
  change.words = subject.options.words;
  if (!folder.unversioned) {
    change.steps.push_back(make_link(folder.in_path + "/libdrm_amdgpu.so",
                                     folder.path + "/libdrm_amdgpu.so.1",
                                     "amd-smi and programs that use it open the library by this "
                                     "name. Otherwise only the development package has it."));
  }
  const bool ids = libraries->ids && !libraries->ids_in_opt;
  if (ids) {
    change.steps.push_back(make_link(ids_in_opt, *libraries->ids,
                                     "PyTorch's wheels look for the cards' names there. Without it "
                                     "they print a warning, and show the card's number."));
  }
  if (change.steps.empty()) return not_needed(id, "both names exist");
  if (subject.boot.image_based) {
    const auto steps = std::move(change.steps);
    change.steps.clear();
    for (const Step& step : steps) {
      const auto& link = std::get<LinkEdit>(step.action);
      change.steps.push_back(by_hand(fmt::format(
          "In the container or toolbox that runs the jobs: ln -s {} {}", *link.after, link.path)));
    }
    return change;
  }
  if (!folder.unversioned) add_ldconfig(change);
  change.notes.emplace_back("A message about amdgpu.ids only is harmless.");
  return change;
}

bool applies(const FixSubject& subject) {
  return acts(make(subject));
}

}  // namespace

constinit const Fix missing_library_fix = {
    .id = id,
    .meaning = "Links libdrm_amdgpu.so and amdgpu.ids to where programs look for them.",
    .takes = "",
    .applies = applies,
    .plan = make,
};

}  // namespace headroom::plan
