// SPDX-License-Identifier: Apache-2.0
#include "findings/timeline.h"

#include <algorithm>
#include <tuple>

#include "findings/causes/recovery.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

using knowledge::Role;
using logs::Observation;

bool tells_a_story(Role role) {
  return role == Role::failure || role == Role::consequence || role == Role::hint ||
         role == Role::progress;
}

bool same_thing(const Event& event, const Observation& next, const std::string& what) {
  return event.what == what && event.origin == next.origin && event.role == next.signature->role;
}

}  // namespace

std::vector<Event> make_timeline(const LogSubject& subject, std::size_t most) {
  std::vector<const Observation*> story;
  for (const Observation& one : subject.log.all()) {
    const Role role = one.signature->role;
    if (!tells_a_story(role)) continue;
    // The line has a vague word of failure but is known to be harmless.
    const bool fails = role == Role::failure || role == Role::consequence;
    if (!fails || is_failure(subject.log, one)) story.push_back(&one);
  }
  std::stable_sort(story.begin(), story.end(), [](const Observation* a, const Observation* b) {
    return std::tuple(a->log, a->line, a->signature) < std::tuple(b->log, b->line, b->signature);
  });
  std::vector<Event> events;
  for (std::size_t i = 0; i < story.size(); ++i) {
    const Observation* one = story[i];
    // The table of signatures goes from the general to the special, so if a line matches several,
    // the last one says the most.
    const bool more_on_this_line =
        i + 1 < story.size() && story[i + 1]->log == one->log && story[i + 1]->line == one->line;
    if (more_on_this_line) continue;
    const std::string what = logs::describe(*one);
    const bool again = !events.empty() && same_thing(events.back(), *one, what);
    if (again) {
      ++events.back().times;
      events.back().last_time = one->time;
      continue;
    }
    events.push_back(
        {one->time, one->log_name, one->line, one->origin, what, 1, "", one->signature->role});
  }
  if (events.size() > most) {
    const auto half = static_cast<std::ptrdiff_t>(most / 2);
    events.erase(events.begin() + half, events.end() - half);
  }
  return events;
}

}  // namespace headroom::findings
