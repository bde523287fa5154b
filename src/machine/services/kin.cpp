// SPDX-License-Identifier: Apache-2.0
#include "machine/services/kin.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "machine/clock.h"

namespace headroom::machine {
namespace {

void set_end(KinEnd& end, int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    end.signal = WTERMSIG(wait_status);
    end.code = 128 + *end.signal;
    end.dumped_core = WCOREDUMP(wait_status);
  } else {
    end.code = WEXITSTATUS(wait_status);
  }
}

bool has_ended(const ListedProcess& process) {
  return process.state == 'Z' || process.state == 'X';
}

// Whether a status is what a helper answers its caller with, as grep, test and readlink do.
bool is_answer(const ListedProcess& process) {
  return process.wait_status && WIFEXITED(*process.wait_status);
}

// In the middle of execve(2) a process shows no environment; a moment later it does.
bool was_left_by_own_command(const ListedProcess& process) {
  constexpr int looks = 5;
  for (int i = 0; i < looks; ++i) {
    if (has_variable(process.pid, std::string(own_command_variable))) return true;
    if (has_ended(process) || shows_environment(process.pid)) return false;
    sleep_ms(1);
  }
  return false;
}

}  // namespace

Kin::Kin(std::string variable, std::shared_ptr<const OwnCommands> own)
    : variable_(std::move(variable)),
      commands_(std::move(own)),
      own_(static_cast<std::uint64_t>(::getpid())) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  // Children that we have already are about something else: who tidies up after us, for instance.
  const auto all = list_processes();
  if (!all) return;
  std::map<std::uint64_t, std::uint64_t> parents;
  for (const ListedProcess& one : *all) {
    parents[one.pid] = one.parent;
    if (one.parent == own_) strangers_.insert({one.pid, one.started});
  }
  for (std::uint64_t pid = own_; pid != 0 && ancestors_.insert(pid).second;)
    pid = parents.contains(pid) ? parents[pid] : 0;
}

void Kin::add(const ListedProcess& process) {
  if (!has_ended(process)) added_.insert({process.pid, process.started});
}

// Parents are mostly older than their children and come first; look() repeats it for the others.
bool Kin::belongs(const ListedProcess& one, const std::map<std::uint64_t, Name>& by_pid,
                  const std::map<Name, Member>& found) {
  const Name name{one.pid, one.started};
  if (ancestors_.contains(one.pid) || commands_->pids.contains(one.pid)) return false;
  if (told_.contains(name)) return false;
  if (members_.contains(name) || added_.contains(name)) return true;
  const auto parent = by_pid.find(one.parent);
  if (parent != by_pid.end() && found.contains(parent->second)) return true;
  if (strangers_.contains(name)) return false;
  if (one.parent == own_ && !was_left_by_own_command(one)) return true;
  if (has_ended(one)) return false;
  if (has_variable(one.pid, variable_)) return true;
  strangers_.insert(name);
  return false;
}

std::optional<KinEnd> Kin::end_of(const Member& member, const ListedProcess* now) const {
  const bool is_gone = now == nullptr;
  if (!is_gone && !has_ended(*now)) return std::nullopt;
  KinEnd end;
  end.pid = member.process.pid;
  end.command = member.command;
  end.was_root = member.is_root;
  if (is_gone) return end;
  int status = 0;
  if (now->parent == own_ && ::waitpid(static_cast<pid_t>(now->pid), &status, WNOHANG) > 0) {
    set_end(end, status);
  } else if (now->wait_status) {
    set_end(end, *now->wait_status);
  }
  return end;
}

// A worker whose end only its parent knows: that the parent starts the same again, at once or after
// a pause, tells that it was not meant to end.
void Kin::find_restarts(const std::map<Name, Member>& before, std::vector<KinEnd>& ended) {
  for (const KinEnd& end : ended) {
    if (!end.code && !end.was_root) missed_.push_back(end);
  }
  for (const auto& [name, member] : members_) {
    if (before.contains(name)) continue;
    const auto same = std::find_if(missed_.begin(), missed_.end(), [&member](const KinEnd& one) {
      return one.command == member.command;
    });
    if (same == missed_.end()) continue;
    ended.push_back(*same);
    ended.back().came_again = true;
    missed_.erase(same);
  }
  constexpr std::size_t most = 64;
  if (missed_.size() > most) missed_.erase(missed_.begin());
}

Result<KinLook> Kin::look() {
  HEADROOM_TRY(const auto all, list_processes());
  std::map<std::uint64_t, Name> by_pid;
  for (const ListedProcess& one : all) by_pid[one.pid] = {one.pid, one.started};
  std::map<Name, Member> found;
  for (bool grew = true; grew;) {
    grew = false;
    for (const ListedProcess& one : all) {
      const Name name{one.pid, one.started};
      if (found.contains(name) || !belongs(one, by_pid, found)) continue;
      found[name].process = one;
      grew = true;
    }
  }
  KinLook look;
  const std::map<Name, Member> before = std::move(members_);
  members_.clear();
  for (auto& [name, member] : found) {
    const auto parent = by_pid.find(member.process.parent);
    member.is_root = parent == by_pid.end() || !found.contains(parent->second);
    const auto known = before.find(name);
    const bool ended = has_ended(member.process);
    member.command = ended && known != before.end()
                         ? known->second.command
                         : command_line_of(member.process.pid, member.process.name);
    if (ended && known != before.end()) member.is_root = known->second.is_root;
    // Nobody saw it at work: it came and went within one look, which is no worker's life.
    if (ended && known == before.end() && !member.is_root && is_answer(member.process)) {
      told_.insert(name);
      continue;
    }
    if (auto end = end_of(member, &member.process)) {
      told_.insert(name);
      look.ended.push_back(*std::move(end));
      continue;
    }
    members_[name] = member;
    look.living.push_back(member.process);
  }
  for (const auto& [name, member] : before) {
    if (found.contains(name)) continue;
    if (auto end = end_of(member, nullptr)) look.ended.push_back(*std::move(end));
  }
  find_restarts(before, look.ended);
  return look;
}

std::vector<ListedProcess> Kin::roots() const {
  std::vector<ListedProcess> found;
  for (const auto& [name, member] : members_) {
    if (member.is_root) found.push_back(member.process);
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.started < b.started; });
  return found;
}

void Kin::send_all(int signal) const {
  for (const auto& [name, member] : members_)
    ::kill(static_cast<pid_t>(member.process.pid), signal);
}

}  // namespace headroom::machine
