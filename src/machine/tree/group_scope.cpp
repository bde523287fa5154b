// SPDX-License-Identifier: Apache-2.0
#include "machine/tree/group_scope.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "machine/tree/group_folder.h"
#include "machine/tree/group_places.h"
#include "machine/tree/group_v2.h"
#include "machine/tree/scope_holder.h"
#include "machine/tree/systemd_bus.h"

namespace headroom::machine {
namespace {

class Scope : public ControlGroup {
 public:
  Scope(const std::string& folder, ScopeHolder holder)
      : folder_(GroupFolder::borrow(folder)),
        holder_(std::move(holder)),
        has_memory_(folder_.read("memory.max").has_value()) {}

  // It stays what it was when the group is gone.
  LimitKind kind() const override {
    return has_memory_ ? LimitKind::systemd_scope : LimitKind::none;
  }
  Status add(pid_t /*process*/) override { return Done{}; }  // systemd has.
  std::vector<pid_t> processes() const override {
    std::vector<pid_t> found = folder_.processes();
    std::erase(found, holder_.pid());
    return found;
  }
  // The holder goes with the rest, and then the group: its counts are read before.
  void kill() override {
    use();
    kill_group_v2(folder_.path());
  }
  // Where somebody else has stopped the scope, what it said last holds.
  GroupUse use() override {
    GroupUse now = read_group_use_v2(folder_, highest_);
    if (now.memory) last_ = now;
    return last_;
  }

 private:
  GroupFolder folder_;
  ScopeHolder holder_;
  bool has_memory_;
  Bytes highest_;
  GroupUse last_;
};

}  // namespace

Result<std::unique_ptr<ControlGroup>> make_scope(pid_t command, std::optional<Bytes> limit) {
  const std::string name = make_group_name() + ".scope";
  HEADROOM_TRY(ScopeHolder holder, ScopeHolder::start());
  HEADROOM_CHECK(
      start_scope({name, "A command that headroom supervises", {command, holder.pid()}, limit}));
  HEADROOM_CHECK(wait_for_scope(command, name));
  const auto folder = read_group_places(command).unified;
  if (!folder || !folder->ends_with("/" + name))
    return Error{Errc::unsupported, fmt::format("{} is not a group of version 2", name), ""};
  return std::make_unique<Scope>(*folder, std::move(holder));
}

}  // namespace headroom::machine
