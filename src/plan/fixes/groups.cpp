// SPDX-License-Identifier: Apache-2.0
#include "plan/fixes/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/require.h"
#include "base/text.h"
#include "plan/fixes/places.h"

namespace headroom::plan {
namespace {

constexpr std::array files = {"/etc/group", "/usr/lib/group"};
constexpr std::array user_files = {"/etc/passwd", "/usr/lib/passwd"};

struct Account {
  std::optional<std::uint64_t> number;
  std::optional<std::uint64_t> group;
};

// passwd(5): NAME:PASSWORD:UID:GID:GECOS:HOME:SHELL.
std::optional<Account> find_account(const FixSubject& subject, std::string_view user) {
  for (const char* path : user_files) {
    const facts::ConfigFile* file = setting_file(subject, path);
    if (file == nullptr) continue;
    for (const std::string_view line : split_lines(file->text)) {
      const auto fields = split(line, ':');
      if (fields.size() >= 4 && fields[0] == user) {
        return Account{parse_u64(fields[2]), parse_u64(fields[3])};
      }
    }
  }
  return std::nullopt;
}

template <class Accept>
std::optional<Group> find(const FixSubject& subject, Accept accept) {
  for (const char* path : files) {
    const facts::ConfigFile* file = setting_file(subject, path);
    if (file == nullptr) continue;
    for (const std::string_view line : split_lines(file->text)) {
      const auto fields = split(line, ':');
      if (fields.size() < 4 || !accept(fields)) continue;
      Group group{std::string(line), {}, path != files.front()};
      for (const std::string_view member : split(fields[3], ',')) {
        if (!member.empty()) group.members.emplace_back(member);
      }
      return group;
    }
  }
  return std::nullopt;
}

// usermod knows /etc/group alone, so groups of the image have to be there first.
void copy_from_image(const FixSubject& subject, const std::vector<std::string>& groups,
                     std::vector<Step>& steps) {
  const facts::ConfigFile* there = setting_file(subject, files.front());
  std::vector<std::string> names;
  std::string after = there == nullptr ? "" : there->text;
  for (const std::string& name : groups) {
    const auto group = find_group(subject, name);
    if (!group || !group->of_image) continue;
    if (!after.empty() && after.back() != '\n') after += '\n';
    after += group->line + "\n";
    names.push_back(name);
  }
  if (names.empty()) return;
  FileEdit edit;
  edit.path = files.front();
  if (there != nullptr) edit.before = there->text;
  edit.after = std::move(after);
  Step step;
  step.kind = StepKind::group;
  step.what = fmt::format("Add {} to /etc/group", join(names, " and "));
  step.why = "Only the system image's /usr/lib/group has it, and users cannot be added there.";
  step.action = std::move(edit);
  steps.push_back(std::move(step));
}

Step join_group(const FixSubject& subject, const std::string& group) {
  const std::string& user = subject.options.user;
  Command command;
  command.argv = {"usermod", "-aG", group, user};
  // usermod(8) keeps the last version of each under its name with "-".
  command.generates = {"/etc/group", "/etc/gshadow", "/etc/group-", "/etc/gshadow-"};
  command.undo = {"gpasswd", "-d", user, group};
  command.undo_run = UndoRun::if_changed;
  Step step;
  step.kind = StepKind::group;
  step.what = fmt::format("Add {} to the group {}", user, group);
  step.action = std::move(command);
  if (const auto found = find_group(subject, group)) {  // usermod appends to the list.
    step.expects = {{Expectation::Kind::file_contains, "/etc/group",
                     found->line + (found->members.empty() ? "" : ",") + user}};
  }
  return step;
}

}  // namespace

std::optional<Group> find_group(const FixSubject& subject, std::string_view name) {
  return find(subject, [&](const auto& fields) { return fields[0] == name; });
}

std::optional<std::string> group_of_id(const FixSubject& subject, std::uint64_t gid) {
  const auto group = find(subject, [&](const auto& fields) { return parse_u64(fields[2]) == gid; });
  if (!group) return std::nullopt;
  return group->line.substr(0, group->line.find(':'));
}

bool is_member(const FixSubject& subject, std::string_view group, std::string_view user) {
  const auto found = find_group(subject, group);
  if (!found) return false;
  const auto& members = found->members;
  if (std::find(members.begin(), members.end(), user) != members.end()) return true;
  const auto account = find_account(subject, user);
  const auto fields = split(found->line, ':');
  return account && account->group && parse_u64(fields[2]) == account->group;
}

std::optional<std::uint64_t> number_of_user(const FixSubject& subject, std::string_view user) {
  const auto account = find_account(subject, user);
  return account ? account->number : std::nullopt;
}

std::vector<Step> steps_to_join(const FixSubject& subject, const std::vector<std::string>& groups) {
  require(!subject.options.user.empty(), "the user who joins a group is known");
  std::vector<Step> steps;
  copy_from_image(subject, groups, steps);
  for (const std::string& group : groups) steps.push_back(join_group(subject, group));
  return steps;
}

}  // namespace headroom::plan
