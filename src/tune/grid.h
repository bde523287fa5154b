// SPDX-License-Identifier: Apache-2.0
// What may be varied of a service, as a grid: one axis for each setting, one point for each
// combination of their values that may be tried.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "deploy/spec.h"

namespace headroom::tune {

using deploy::TuneSetting;

struct Axis {
  TuneSetting setting;               // Its values from little to much, with the present one.
  std::vector<std::string> aliases;  // Other spellings of an option, "-t" of "--threads".
  std::optional<std::size_t> now;    // The present value; nothing: it is not known.
  bool is_set = false;               // It is said where it is read; else it is a default.
  std::string source;                // Who says that it may be varied; empty: SERVICE.toml.
};

// The position of a value on each axis.
using Point = std::vector<std::size_t>;

struct Space {
  std::vector<Axis> axes;
  std::vector<Point> points;           // Every combination that may be tried, in order.
  std::optional<std::size_t> present;  // The point that is in force; nothing: not known.
  std::vector<std::string> command;    // The present one, where an axis is an option of it.

  // The value of `point` on an axis with this role; nothing if none has it, or it is no number.
  // Of several axes with one role it is the product.
  std::optional<double> of_role(const Point& point, TuneSetting::Role role) const;
  // "workers = 4, threads = 1".
  std::map<std::string, std::string> settings_of(const Point& point) const;
};

}  // namespace headroom::tune
