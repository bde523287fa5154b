// SPDX-License-Identifier: Apache-2.0
#include "machine/tree/group_v2.h"

#include <fmt/format.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <utility>

#include "base/text.h"
#include "machine/clock.h"
#include "machine/tree/group_folder.h"
#include "machine/tree/systemd_bus.h"

namespace headroom::machine {
namespace {

bool has_word(const std::optional<std::string>& text, std::string_view word) {
  const auto words = split_words(text ? std::string_view(*text) : "");
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Our own group hands memory on to groups below it as long as this exists.
class MemoryHandedOn {
 public:
  static Result<std::optional<MemoryHandedOn>> make(const std::string& own);
  MemoryHandedOn(MemoryHandedOn&& other) noexcept
      : own_(std::exchange(other.own_, {})), aside_(std::move(other.aside_)) {}
  MemoryHandedOn& operator=(MemoryHandedOn&&) = delete;
  ~MemoryHandedOn() {
    if (own_.empty()) return;
    (void)!write_group_file(own_ + "/cgroup.subtree_control", "-memory");
    for (const pid_t pid : aside_.processes())
      (void)!write_group_file(own_ + "/cgroup.procs", std::to_string(pid));
  }

 private:
  MemoryHandedOn(std::string own, GroupFolder aside)
      : own_(std::move(own)), aside_(std::move(aside)) {}

  std::string own_;
  GroupFolder aside_;  // Where we are meanwhile.
};

// Nothing where it hands memory on already.
Result<std::optional<MemoryHandedOn>> MemoryHandedOn::make(const std::string& own) {
  const std::string control = own + "/cgroup.subtree_control";
  if (has_word(read_group_file(control), "memory")) return std::optional<MemoryHandedOn>();
  if (!has_word(read_group_file(own + "/cgroup.controllers"), "memory"))
    return Error{Errc::unsupported, fmt::format("{} has no memory controller", own), ""};
  // The root group, and one without processes, may.
  if (write_group_file(control, "+memory")) return std::optional<MemoryHandedOn>();
  for (const pid_t pid : read_group_processes(own)) {
    if (pid != ::getpid() &&
        read_group_file(fmt::format("/proc/{}/stat", pid)).value_or("").find("(headroom-keeper)") ==
            std::string::npos)
      return Error{Errc::busy, fmt::format("other processes are in {}", own), ""};
  }
  HEADROOM_TRY(GroupFolder aside, GroupFolder::make(own, make_group_name()));
  const std::vector<pid_t> ours = read_group_processes(own);
  MemoryHandedOn handed(own, std::move(aside));  // Takes all back if the rest fails.
  for (const pid_t pid : ours) HEADROOM_CHECK(handed.aside_.add(pid));
  HEADROOM_CHECK(write_group_file(control, "+memory"));
  return std::optional<MemoryHandedOn>(std::move(handed));
}

class GroupV2 : public ControlGroup {
 public:
  GroupV2(GroupFolder folder, bool has_memory, std::optional<MemoryHandedOn> handed)
      : has_memory_(has_memory), handed_(std::move(handed)), folder_(std::move(folder)) {}

  LimitKind kind() const override { return has_memory_ ? LimitKind::cgroup_v2 : LimitKind::none; }
  Status add(pid_t process) override { return folder_.add(process); }
  std::vector<pid_t> processes() const override { return folder_.processes(); }
  void kill() override { kill_group_v2(folder_.path()); }
  GroupUse use() override {
    return has_memory_ ? read_group_use_v2(folder_, highest_) : GroupUse{};
  }
  Status limit(Bytes limit) const;

 private:
  bool has_memory_;
  std::optional<MemoryHandedOn> handed_;
  GroupFolder folder_;  // Removed before memory is handed on no more.
  Bytes highest_;
};

// Swap is no part of what the limit allows: a job that lives in swap would hardly move.
Status GroupV2::limit(Bytes limit) const {
  HEADROOM_CHECK(folder_.write("memory.max", std::to_string(limit.value)));
  if (folder_.read("memory.swap.max")) HEADROOM_CHECK(folder_.write("memory.swap.max", "0"));
  return Done{};
}

// systemd marks what it has delegated: for everyone since version 251, for root before that.
bool is_delegated(const std::string& own) {
  if (!is_systemd_there()) return true;
  char mark = 0;
  const auto is_marked = [&](const char* name) {
    return ::getxattr(own.c_str(), name, &mark, 1) == 1 && mark == '1';
  };
  return is_marked("user.delegate") || is_marked("trusted.delegate");
}

}  // namespace

GroupUse read_group_use_v2(const GroupFolder& folder, Bytes& highest) {
  GroupUse use;
  if (const auto current = folder.read_bytes("memory.current")) {
    highest = std::max(highest, *current);
    const Bytes cache{folder.read_key("memory.stat", "active_file").value_or(0) +
                      folder.read_key("memory.stat", "inactive_file").value_or(0)};
    use.memory = saturating_sub(*current, cache);
    use.peak = folder.read_bytes("memory.peak").value_or(highest);
  }
  use.kernel_kills = folder.read_key("memory.events", "oom_kill").value_or(0);
  return use;
}

// Before Linux 5.14 there is no cgroup.kill; then they are frozen, so that none forks meanwhile.
void kill_group_v2(const std::string& folder) {
  if (write_group_file(folder + "/cgroup.kill", "1")) return;
  (void)!write_group_file(folder + "/cgroup.freeze", "1");
  constexpr int most_looks = 100;
  constexpr std::uint64_t pause_ms = 2;
  for (int i = 0; i < most_looks; ++i) {
    const std::string events = read_group_file(folder + "/cgroup.events").value_or("");
    if (events.find("frozen 1") != std::string::npos) break;
    sleep_ms(pause_ms);
  }
  for (const pid_t pid : read_group_processes(folder)) ::kill(pid, SIGKILL);
  (void)!write_group_file(folder + "/cgroup.freeze", "0");
}

Result<std::unique_ptr<ControlGroup>> make_group_v2(const GroupPlaces& places,
                                                    std::optional<Bytes> limit) {
  if (!places.unified)
    return Error{Errc::not_found, "version 2 of control groups is not mounted", ""};
  if (!is_delegated(*places.unified))
    return Error{Errc::no_permission, fmt::format("systemd has not delegated {}", *places.unified),
                 ""};
  sweep_groups(*places.unified);
  HEADROOM_TRY(auto handed, MemoryHandedOn::make(*places.unified));
  HEADROOM_TRY(GroupFolder folder, GroupFolder::make(*places.unified, make_group_name()));
  auto group = std::make_unique<GroupV2>(std::move(folder), true, std::move(handed));
  if (limit) HEADROOM_CHECK(group->limit(*limit));
  return group;
}

Result<std::unique_ptr<ControlGroup>> make_holding_group_v2(const GroupPlaces& places) {
  if (!places.unified)
    return Error{Errc::not_found, "version 2 of control groups is not mounted", ""};
  if (!is_delegated(*places.unified))
    return Error{Errc::no_permission, fmt::format("systemd has not delegated {}", *places.unified),
                 ""};
  sweep_groups(*places.unified);
  HEADROOM_TRY(GroupFolder folder, GroupFolder::make(*places.unified, make_group_name()));
  return std::make_unique<GroupV2>(std::move(folder), false, std::nullopt);
}

}  // namespace headroom::machine
