// SPDX-License-Identifier: Apache-2.0
// The processes of a service that plain commands start and stop, whatever they do: fork, become
// daemons, change their session. This process is made the subreaper of its descendants (prctl(2)),
// so a daemon becomes our child and says how it ended; a variable in the environment tells those of
// an earlier call, of a killed one for instance; and a pidfile tells what runs already.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "machine/services/process_list.h"
#include "machine/services/running_program.h"

namespace headroom::machine {

// What commands of ours are started with: what they leave behind is no part of the service.
inline constexpr std::string_view own_command_variable = "HEADROOM_ASKS=1";

// A process of a service that ended.
struct KinEnd {
  std::uint64_t pid = 0;
  std::string command;
  std::optional<int> code;  // 128 + signal where one ended it; nothing: nobody can know.
  std::optional<int> signal;
  bool dumped_core = false;
  bool was_root = false;    // No process of the service was its parent.
  bool came_again = false;  // Its code is unknown, and its parent started the same anew.
};

struct KinLook {
  std::vector<ListedProcess> living;
  // Since the look before. A worker whose end nobody knows is told of again when its parent starts
  // the same anew, with came_again.
  std::vector<KinEnd> ended;
};

// One thread.
class Kin {
 public:
  // `variable`: "NAME=VALUE", which every process of the service is started with. `own`: commands
  // of ours that are under way; they, what comes from them and the children that this process has
  // already are no part of the service.
  Kin(std::string variable, std::shared_ptr<const OwnCommands> own);

  const std::string& variable() const { return variable_; }
  // One that is, whoever started it, with what comes from it. Nothing happens where it has ended,
  // and where this process comes from it.
  void add(const ListedProcess& process);

  // Also asks every process that became our child how it ended, so that it is really gone.
  Result<KinLook> look();
  // The last look's roots that live, oldest first.
  std::vector<ListedProcess> roots() const;
  // To every process of the last look.
  void send_all(int signal) const;

 private:
  using Name = std::pair<std::uint64_t, std::uint64_t>;  // pid and start.
  struct Member {
    ListedProcess process;
    std::string command;
    bool is_root = false;
  };
  bool belongs(const ListedProcess& one, const std::map<std::uint64_t, Name>& by_pid,
               const std::map<Name, Member>& found);
  std::optional<KinEnd> end_of(const Member& member, const ListedProcess* now) const;
  void find_restarts(const std::map<Name, Member>& before, std::vector<KinEnd>& ended);

  std::string variable_;
  std::shared_ptr<const OwnCommands> commands_;
  std::uint64_t own_;
  std::set<std::uint64_t> ancestors_;  // Of this process: no service, or ending it would end us.
  std::set<Name> added_;
  std::set<Name> told_;  // Of their end. Until their parents ask for them, they are still listed.
  std::map<Name, Member> members_;
  std::set<Name> strangers_;    // Looked at, and without the variable.
  std::vector<KinEnd> missed_;  // Workers that ended, nobody knows how, and were not started again.
};

}  // namespace headroom::machine
