// SPDX-License-Identifier: Apache-2.0
#include "averager/explorer.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace headroom::averager::testing {
namespace {

// The fingerprints seen, in a table that is probed in order: eight bytes a state and a half.
class Seen {
 public:
  // Returns whether it is new.
  bool add(std::uint64_t print) {
    if (2 * (used_ + 1) > table_.size()) grow();
    return insert(print == 0 ? 1 : print);
  }
  std::uint64_t size() const { return used_; }

 private:
  bool insert(std::uint64_t print) {
    std::size_t at = print & (table_.size() - 1);
    while (table_[at] != 0) {
      if (table_[at] == print) return false;
      at = (at + 1) & (table_.size() - 1);
    }
    table_[at] = print;
    ++used_;
    return true;
  }
  void grow() {
    std::vector<std::uint64_t> old(table_.size() * 2);
    old.swap(table_);
    used_ = 0;
    for (const std::uint64_t print : old)
      if (print != 0) insert(print);
  }

  std::vector<std::uint64_t> table_ = std::vector<std::uint64_t>(1U << 12U);
  std::uint64_t used_ = 0;
};

// One state on the way to the present one, and which of its steps comes next.
struct Level {
  World world;
  std::vector<World::Step> steps;
  std::size_t next = 0;
};

bool nobody_acts(const std::vector<World::Step>& steps) {
  return std::all_of(steps.begin(), steps.end(),
                     [](const World::Step& step) { return step.kind == World::Step::Kind::dies; });
}

std::string way_to(const std::vector<Level>& path, const std::string& end) {
  std::string text = end;
  for (const Level& level : path)
    text += "\n  " + (level.next == 0 ? "here" : level.world.describe(level.steps[level.next - 1]));
  return text;
}

}  // namespace

Explored explore(const Shape& shape, std::uint64_t most_states) {
  Explored found;
  Seen seen;
  std::vector<Level> path;
  const World begin(shape);
  seen.add(begin.fingerprint());
  path.push_back({begin, begin.steps()});
  while (!path.empty()) {
    Level& level = path.back();
    if (level.next == 0 && level.world.all_ended()) {
      ++found.ends;
    } else if (level.next == 0 && nobody_acts(level.steps)) {
      found.broken = way_to(path, "nobody can act: a hang");
      break;
    }
    if (level.next == level.steps.size()) {
      path.pop_back();
      continue;
    }
    World world = level.world;
    const auto broken = world.take(level.steps[level.next++]);
    if (broken) {
      found.broken = way_to(path, *broken);
      break;
    }
    if (!seen.add(world.fingerprint())) continue;
    if (seen.size() > most_states) {
      found.broken = fmt::format("more than {} states", most_states);
      break;
    }
    auto steps = world.steps();
    path.push_back({std::move(world), std::move(steps)});
  }
  found.states = seen.size();
  return found;
}

}  // namespace headroom::averager::testing
