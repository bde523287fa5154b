// SPDX-License-Identifier: Apache-2.0
#include "machine/tree/containment.h"

#include <fmt/format.h>

#include <utility>

#include "machine/tree/group_places.h"
#include "machine/tree/group_scope.h"
#include "machine/tree/group_v1.h"
#include "machine/tree/group_v2.h"

namespace headroom::machine {
namespace {

// Tries one kind after the other, and keeps why those before it could not be had.
class Attempts {
 public:
  explicit Attempts(pid_t command) : command_(command) {}

  bool try_one(Result<std::unique_ptr<ControlGroup>> made) {
    if (made) {
      Status added = (*made)->add(command_);
      if (added) {
        containment_.group = std::move(*made);
        return true;
      }
      made = std::move(added).error();
    }
    if (!containment_.remark.empty()) containment_.remark += "; ";
    containment_.remark += made.error().message;
    return false;
  }
  Containment take() {
    if (!containment_.remark.empty())
      containment_.remark = "no stronger control group could be made: " + containment_.remark;
    return std::move(containment_);
  }

 private:
  pid_t command_;
  Containment containment_;
};

}  // namespace

Containment contain(pid_t command, std::optional<Bytes> limit, Means means) {
  const auto wanted = [&](Means one) { return means == Means::strongest || means == one; };
  const GroupPlaces places = read_group_places();
  Attempts attempts(command);
  if (wanted(Means::cgroup_v2) && attempts.try_one(make_group_v2(places, limit)))
    return attempts.take();
  if (wanted(Means::cgroup_v1) && attempts.try_one(make_group_v1(places, limit)))
    return attempts.take();
  if (wanted(Means::systemd_scope) && attempts.try_one(make_scope(command, limit)))
    return attempts.take();
  // It cannot limit memory, and still tells every process and ends them at one moment.
  if (wanted(Means::holding_group)) attempts.try_one(make_holding_group_v2(places));
  return attempts.take();
}

}  // namespace headroom::machine
