// SPDX-License-Identifier: Apache-2.0
#include "estimate/rotary_scaling.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/document.h"
#include "base/text.h"
#include "estimate/models/config_reader.h"

namespace headroom::estimate {
namespace {

// The settings of one type. What is read is written down, so that the text tells two scalings
// apart.
class Reading {
 public:
  Reading(ConfigReader config, ConfigReader table, const RotaryShape& shape)
      : config_(std::move(config)),
        table_(std::move(table)),
        theta_(shape.theta),
        head_dim_(shape.head_dim),
        class_positions_(shape.class_positions) {}

  Result<RotaryScaling> read(const ConfigFindings& findings) {
    const std::string type = table_.text_or({"rope_type", "type"}, "default");
    // What Phi3Config calls the same.
    const bool is_long = type == "longrope" || type == "su";
    told_ = {is_long ? "longrope" : type};
    if (type == "linear") {
      out_.divisors.assign(count(), needed("factor"));
    } else if (type == "llama3") {
      read_llama3();
    } else if (type == "yarn") {
      read_yarn();
    } else if (is_long) {
      read_longrope();
    } else if (type == "dynamic") {
      needed("factor");
      out_.longest = positions();  // Up to there its frequencies are the plain ones.
    } else if (type != "default") {
      table_.fail_with("rope_type",
                       fmt::format("expected \"default\", \"linear\", \"llama3\", \"yarn\", "
                                   "\"longrope\" or \"dynamic\", found {}",
                                   shown(type)),
                       Errc::unsupported);
    }
    if (findings.problem) return *findings.problem;
    out_.kind = join(told_, ", ");
    return std::move(out_);
  }

 private:
  std::size_t count() const { return head_dim_ / 2; }
  double frequency(std::size_t i) const {
    return std::pow(theta_, -2.0 * static_cast<double>(i) / static_cast<double>(head_dim_));
  }

  double told(const char* key, double value) {
    told_.push_back(fmt::format("{} {}", key, value));
    return value;
  }
  // Bounds far outside of what any model has, within which nothing overflows.
  static constexpr double least = 1e-6;
  static constexpr double most = 1e6;
  static bool is_sane(const Json& value) {
    return value.is_number() && value >= least && value <= most;
  }
  double number_or(const char* key, double otherwise) {
    const Json* found = table_.find({key});
    if (found == nullptr) return otherwise;
    if (!is_sane(*found)) {
      table_.fail(key, fmt::format("a number from {} to {}", least, most));
      return otherwise;
    }
    return found->get<double>();
  }
  double needed(const char* key) {
    if (!table_.has(key)) table_.fail(key, "a number above 0");
    return told(key, number_or(key, 1));
  }
  // "Missing required keys in `rope_scaling`": null will do (_check_received_keys).
  void expect_key(const char* key, const char* wanted) {
    if (!table_.has(key) && !table_.is_null(key)) table_.fail(key, wanted);
  }
  // As Python's `if` sees it: neither null nor 0.
  bool is_set(const char* key) const {
    const Json* found = table_.find({key});
    return found != nullptr && *found != 0;
  }
  std::uint64_t positions() {
    constexpr const char* key = "max_position_embeddings";
    if (!config_.has(key) && class_positions_ == 0)
      config_.fail(key, "a whole number, which this scaling begins from");
    return config_.size_or({key}, position_counts, std::max<std::uint64_t>(class_positions_, 1));
  }
  // Of the model before it was stretched. Phi-3 has it outside of the table, which counts there.
  double original() {
    constexpr const char* key = "original_max_position_embeddings";
    std::uint64_t tokens = 0;
    if (config_.has(key))
      tokens = config_.size({key}, position_counts);
    else
      tokens = table_.has(key) ? table_.size({key}, position_counts) : positions();
    return told(key, static_cast<double>(tokens));
  }

  // _compute_llama3_parameters: slow frequencies are divided, quick ones stay, between the two
  // there is a passage.
  void read_llama3() {
    const double factor = needed("factor");
    const double low = needed("low_freq_factor");
    const double high = needed("high_freq_factor");
    const double length = original();
    if (!(high > low)) table_.fail("high_freq_factor", "a number above low_freq_factor");
    for (std::size_t i = 0; i < count(); ++i) {
      const double turns = length * frequency(i) / (2 * std::numbers::pi);
      const double kept = std::clamp((turns - low) / (high - low), 0.0, 1.0);
      out_.divisors.push_back(1 / ((1 - kept) / factor + kept));
    }
  }

  static double yarn_magnitude(double factor, double scale) {
    constexpr double slope = 0.1;
    return factor <= 1 ? 1 : slope * scale * std::log(factor) + 1;
  }

  // The frequency, counted from the quickest, that turns so often over the original length.
  double place_of(double turns, double length) const {
    return static_cast<double>(head_dim_) * std::log(length / (turns * 2 * std::numbers::pi)) /
           (2 * std::log(theta_));
  }

  // _compute_yarn_parameters: between two places a ramp from kept to divided frequencies.
  void read_yarn() {
    expect_key("factor", "a number above 0");
    const double length = original();
    const double factor = stretch(length);
    constexpr double quick = 32, slow = 1;
    double first = place_of(told("beta_fast", number_or("beta_fast", quick)), length);
    double last = place_of(told("beta_slow", number_or("beta_slow", slow)), length);
    if (table_.flag_or({"truncate"}, true)) {
      first = std::floor(first);
      last = std::ceil(last);
    } else {
      told_.emplace_back("not truncated");
    }
    first = std::max(first, 0.0);
    last = std::min(last, static_cast<double>(head_dim_) - 1);
    constexpr double at_least = 0.001;
    if (first == last) last += at_least;
    for (std::size_t i = 0; i < count(); ++i) {
      const double divided =
          std::clamp((static_cast<double>(i) - first) / (last - first), 0.0, 1.0);
      out_.divisors.push_back(1 / (divided / factor + 1 - divided));
    }
    double magnitude = yarn_magnitude(factor, 1);
    if (is_set("mscale") && is_set("mscale_all_dim"))
      magnitude = yarn_magnitude(factor, number_or("mscale", 1)) /
                  yarn_magnitude(factor, number_or("mscale_all_dim", 1));
    out_.magnitude = told("attention_factor", number_or("attention_factor", magnitude));
  }

  // How many times as long as before.
  double stretch(double length) {
    const double given =
        table_.has("factor") ? number_or("factor", 1) : static_cast<double>(positions()) / length;
    return told("factor", given);
  }

  // _compute_longrope_parameters: a number for each frequency, others beyond the original length.
  void read_longrope() {
    const double length = original();
    const double factor = stretch(length);
    out_.longest = static_cast<std::uint64_t>(length);
    read_list("short_factor");
    expect_key("long_factor", fmt::format("{} numbers above 0", count()).c_str());
    const double magnitude =
        factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(std::max(length, 2.0)));
    out_.magnitude = told("attention_factor", number_or("attention_factor", magnitude));
  }

  void read_list(const char* key) {
    const Json* list = table_.find({key});
    const std::string wanted = fmt::format("{} numbers from {} to {}", count(), least, most);
    if (list == nullptr || !list->is_array()) return table_.fail(key, wanted);
    if (list->size() != count())
      return table_.fail_with(key, fmt::format("expected {}, found {}", wanted, list->size()));
    for (const Json& one : *list) {
      if (!is_sane(one))
        return table_.fail_with(
            key, fmt::format("expected {}, found {} among them", wanted, shown(&one)));
      out_.divisors.push_back(one.get<double>());
    }
    told_.push_back(fmt::format("{} {}", key, fmt::join(out_.divisors, " ")));
  }

  ConfigReader config_, table_;
  double theta_;
  std::uint64_t head_dim_, class_positions_;
  std::vector<std::string> told_;
  RotaryScaling out_;
};

}  // namespace

Result<RotaryScaling> read_rotary_scaling(const Json& config, const RotaryShape& shape) {
  ConfigFindings findings;
  ConfigReader reader(config, findings);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const Json* found = reader.find({key});
    // As Python's `or` sees it: what is empty is not there.
    if (found == nullptr || (found->is_structured() && found->empty())) continue;
    return Reading(reader, reader.inner(key), shape).read(findings);
  }
  return RotaryScaling{};
}

}  // namespace headroom::estimate
