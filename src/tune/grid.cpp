// SPDX-License-Identifier: Apache-2.0
#include "tune/grid.h"

#include "base/text.h"

namespace headroom::tune {

std::optional<double> Space::of_role(const Point& point, TuneSetting::Role role) const {
  std::optional<double> product;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].setting.role != role) continue;
    const auto number = parse_double(axes[i].setting.values[point[i]]);
    if (number) product = product.value_or(1) * *number;
  }
  return product;
}

std::map<std::string, std::string> Space::settings_of(const Point& point) const {
  std::map<std::string, std::string> settings;
  for (std::size_t i = 0; i < axes.size(); ++i)
    settings[axes[i].setting.name] = axes[i].setting.values[point[i]];
  return settings;
}

}  // namespace headroom::tune
