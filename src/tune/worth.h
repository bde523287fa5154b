// SPDX-License-Identifier: Apache-2.0
// What a GPU would be worth to a service that runs on the processor: the hours of work that it
// would save a day, and the days until what it saves in electricity has paid its price. Every
// figure is one that somebody gave or that was measured; none is guessed.
#pragma once

#include <optional>
#include <string>

namespace headroom::tune {

struct WorthQuestion {
  std::optional<double> items_per_day;
  std::optional<double> faster;       // How many times as fast the GPU is as the best found.
  std::optional<double> gpu_price;    // In any currency, …
  std::optional<double> electricity;  // … the price of a kWh in the same.
  std::optional<double> gpu_watts;    // While it works.
  std::optional<double> cpu_watts;    // Likewise.
  std::string cpu_watts_source;       // "--cpu-watts", "measured (RAPL)".

  bool is_asked() const { return items_per_day.has_value(); }
};

struct Worth {
  WorthQuestion question;
  double item_ms = 0;
  double cpu_hours = 0, gpu_hours = 0;  // Of work, a day.
  std::optional<double> cpu_kwh, gpu_kwh, saved_a_day;
  std::optional<double> pays_after_days;
  std::string why_not;  // Why it is not known when it pays, or why it never does.

  double hours_saved() const { return cpu_hours - gpu_hours; }
  bool keeps_up() const { return cpu_hours <= 24; }
};

// `item_ms` is what an item takes on the processor. Requires: items_per_day and faster are there.
Worth worth_of(const WorthQuestion& question, double item_ms);

}  // namespace headroom::tune
