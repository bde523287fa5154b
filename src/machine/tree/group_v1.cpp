// SPDX-License-Identifier: Apache-2.0
#include "machine/tree/group_v1.h"

#include <algorithm>
#include <csignal>
#include <string>
#include <utility>

#include "base/text.h"
#include "machine/clock.h"
#include "machine/tree/group_folder.h"
#include "machine/tree/group_v2.h"

namespace headroom::machine {
namespace {

class GroupV1 : public ControlGroup {
 public:
  GroupV1(GroupFolder memory, std::optional<GroupFolder> freezer,
          std::optional<GroupFolder> unified)
      : memory_(std::move(memory)), freezer_(std::move(freezer)), unified_(std::move(unified)) {}

  LimitKind kind() const override { return LimitKind::cgroup_v1; }
  Status add(pid_t process) override;
  std::vector<pid_t> processes() const override { return memory_.processes(); }
  void kill() override;
  GroupUse use() override;
  Status limit(Bytes limit) const;

 private:
  bool freeze();

  GroupFolder memory_;
  std::optional<GroupFolder> freezer_;
  std::optional<GroupFolder> unified_;
};

Status GroupV1::add(pid_t process) {
  HEADROOM_CHECK(memory_.add(process));
  // Those only help; what they refuse the caller ends one by one.
  if (freezer_ && !freezer_->add(process)) freezer_.reset();
  if (unified_ && !unified_->add(process)) unified_.reset();
  return Done{};
}

// With swap, where it is counted: the limit is one of memory and swap together.
Status GroupV1::limit(Bytes limit) const {
  const std::string text = std::to_string(limit.value);
  HEADROOM_CHECK(memory_.write("memory.limit_in_bytes", text));
  if (memory_.read("memory.memsw.limit_in_bytes"))
    HEADROOM_CHECK(memory_.write("memory.memsw.limit_in_bytes", text));
  return Done{};
}

bool GroupV1::freeze() {
  constexpr int most_looks = 100;
  constexpr std::uint64_t pause_ms = 2;
  for (int i = 0; i < most_looks; ++i) {
    // Written again, it finds those that were forked while it froze the others.
    if (!freezer_->write("freezer.state", "FROZEN")) return false;
    if (trim(freezer_->read("freezer.state").value_or("")) == "FROZEN") return true;
    sleep_ms(pause_ms);
  }
  return false;
}

void GroupV1::kill() {
  if (unified_) kill_group_v2(unified_->path());
  if (processes().empty() || !freezer_ || !freezer_->read("freezer.state")) return;
  freeze();
  for (const pid_t pid : freezer_->processes()) ::kill(pid, SIGKILL);
  (void)!freezer_->write("freezer.state", "THAWED");  // Frozen, they would not end.
}

GroupUse GroupV1::use() {
  GroupUse use;
  const Bytes cache{memory_.read_key("memory.stat", "total_active_file").value_or(0) +
                    memory_.read_key("memory.stat", "total_inactive_file").value_or(0)};
  if (const auto usage = memory_.read_bytes("memory.usage_in_bytes"))
    use.memory = saturating_sub(*usage, cache);
  use.peak = memory_.read_bytes("memory.max_usage_in_bytes");
  use.kernel_kills = memory_.read_key("memory.oom_control", "oom_kill").value_or(0);
  return use;
}

std::optional<GroupFolder> make_beside(const std::optional<std::string>& parent,
                                       const std::string& name) {
  if (!parent) return std::nullopt;
  sweep_groups(*parent);
  auto made = GroupFolder::make(*parent, name);
  if (!made) return std::nullopt;
  return std::move(*made);
}

}  // namespace

Result<std::unique_ptr<ControlGroup>> make_group_v1(const GroupPlaces& places,
                                                    std::optional<Bytes> limit) {
  const auto memory = places.by_controller.find("memory");
  if (memory == places.by_controller.end())
    return Error{Errc::not_found, "version 1 of control groups has no memory hierarchy here", ""};
  sweep_groups(memory->second);
  const std::string name = make_group_name();
  HEADROOM_TRY(GroupFolder folder, GroupFolder::make(memory->second, name));
  std::optional<std::string> freezer;
  if (const auto found = places.by_controller.find("freezer"); found != places.by_controller.end())
    freezer = found->second;
  auto group = std::make_unique<GroupV1>(std::move(folder), make_beside(freezer, name),
                                         make_beside(places.unified, name));
  if (limit) HEADROOM_CHECK(group->limit(*limit));
  return group;
}

}  // namespace headroom::machine
