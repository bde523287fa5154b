// SPDX-License-Identifier: Apache-2.0
#include "estimate/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "base/text.h"
#include "estimate/tensor_rules.h"

namespace headroom::estimate {
namespace {

constexpr std::array<std::uint64_t, 3> element_sizes = {4, 2, 1};

// What a rule is tried with: one reading of each dimension, the sequence one longer or shorter.
struct Choice {
  std::array<const Reading*, dimension_count> readings{};
  int shift = 0;  // Of the sequence.

  const Reading& of(Dimension dimension) const {
    return *readings.at(static_cast<std::size_t>(dimension));
  }
};

std::uint64_t saturating_mul(std::uint64_t a, std::uint64_t b) {
  return b != 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

// Nothing where the division leaves a rest: there is no such tensor then.
std::optional<std::uint64_t> length(const Axis& axis, const Choice& choice) {
  if (!axis.constant.empty()) return axis.times;
  std::uint64_t value = choice.of(axis.dimension).value;
  if (axis.dimension == Dimension::sequence)
    value = static_cast<std::uint64_t>(static_cast<std::int64_t>(value) + choice.shift);
  if (value % axis.divided_by != 0) return std::nullopt;
  return value / axis.divided_by * axis.times;
}

std::string axes_of(const TensorRule& rule) {
  std::vector<std::string> words;
  for (const Axis& axis : rule.shape) {
    if (!axis.constant.empty()) {
      words.emplace_back(axis.constant);
    } else {
      std::string word(to_string(axis.dimension));
      if (axis.times > 1) word = fmt::format("{} × {}", axis.times, word);
      if (axis.divided_by > 1) word += fmt::format("/{}", axis.divided_by);
      words.push_back(std::move(word));
    }
  }
  return join(words, " × ");
}

std::string formula_of(const Shape& shape, std::uint64_t element_bytes) {
  return fmt::format("{} × {} B", fmt::join(shape, " × "), element_bytes);
}

class Search {
 public:
  // Without a size, everything matches.
  Search(const JobDimensions& known, std::optional<PrintedSize> printed)
      : known_(with_derived(known)), printed_(printed) {}

  std::vector<TensorMatch> run() {
    for (const TensorRule& rule : tensor_rules()) try_rule(rule);
    drop_covered();
    drop_shifted();
    std::stable_sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) {
      return std::pair(a.match.doubt, a.match.error) < std::pair(b.match.doubt, b.match.error);
    });
    std::vector<TensorMatch> matches;
    unsigned rank = 0;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      if (i > 0 && found_[i].match.doubt != matches.back().doubt) ++rank;
      found_[i].match.rank = rank;
      matches.push_back(std::move(found_[i].match));
    }
    return matches;
  }

 private:
  struct Found {
    std::string_view tensor, covered_by;  // TensorRule's.
    std::uint64_t element_bytes = 0;
    int shift = 0;  // Of the sequence.
    TensorMatch match;
  };

  void try_rule(const TensorRule& rule) {
    std::vector<Dimension> used;
    for (const Axis& axis : rule.shape) {
      if (!axis.constant.empty()) continue;
      if (!known_.knows(axis.dimension)) return;
      if (std::find(used.begin(), used.end(), axis.dimension) == used.end())
        used.push_back(axis.dimension);
    }
    Choice choice;
    choose(rule, used, 0, choice);
  }

  // Every reading of every dimension that the rule uses.
  void choose(const TensorRule& rule, const std::vector<Dimension>& used, std::size_t next,
              Choice& choice) {
    if (next == used.size()) return try_choice(rule, used, choice);
    const Dimension dimension = used[next];
    for (const Reading& reading : known_.of(dimension)) {
      choice.readings.at(static_cast<std::size_t>(dimension)) = &reading;
      const bool shifts = dimension == Dimension::sequence;
      for (const int shift : {0, -1, 1}) {
        if (shift != 0 && !shifts) break;
        if (shifts) choice.shift = shift;
        choose(rule, used, next + 1, choice);
      }
    }
  }

  void try_choice(const TensorRule& rule, const std::vector<Dimension>& used,
                  const Choice& choice) {
    Shape shape;
    std::uint64_t elements = 1;
    for (const Axis& axis : rule.shape) {
      const auto size = length(axis, choice);
      if (!size) return;
      shape.push_back(*size);
      elements = saturating_mul(elements, *size);
    }
    for (const std::uint64_t bytes_each : element_sizes) {
      const std::uint64_t bytes = saturating_mul(elements, bytes_each);
      const auto doubt = doubt_of(rule, bytes_each);
      if (!doubt || bytes == UINT64_MAX) continue;
      if (printed_ && !printed_->stands_for(bytes)) continue;
      add(rule, used, choice, {rule.doubt + *doubt, bytes_each, bytes, shape});
    }
  }

  std::optional<unsigned> doubt_of(const TensorRule& rule, std::uint64_t bytes_each) const {
    const Elements& elements = rule.elements;
    const unsigned doubt = bytes_each == 4   ? elements.wide
                           : bytes_each == 2 ? elements.half
                                             : elements.narrow;
    if (doubt == Elements::no_such) return std::nullopt;
    const bool other =
        known_.compute && rule.in_compute_type && size_of(*known_.compute) != bytes_each;
    return doubt + (other ? 1U : 0U);
  }

  struct Sized {
    unsigned doubt;
    std::uint64_t bytes_each, bytes;
    Shape shape;
  };

  void add(const TensorRule& rule, const std::vector<Dimension>& used, const Choice& choice,
           const Sized& sized) {
    Found found;
    found.tensor = rule.tensor;
    found.covered_by = rule.covered_by;
    found.element_bytes = sized.bytes_each;
    TensorMatch& match = found.match;
    match.doubt = sized.doubt;
    match.tensor = rule.tensor;
    match.shape = sized.shape;
    match.dtype = name_of(rule, sized.bytes_each);
    match.bytes = sized.bytes;
    match.error = printed_ ? relative_error(sized.bytes, printed_->size) : 0.0;
    match.formula = formula_of(sized.shape, sized.bytes_each);
    match.axes = axes_of(rule);
    match.removed_by = removed_by(rule.remedy);
    for (const Dimension dimension : used) {
      match.doubt += choice.of(dimension).doubt;
      note(match, dimension, choice);
    }
    if (shifts(used, choice)) found.shift = choice.shift;
    if (found.shift != 0) match.doubt += found.shift < 0 ? 1 : 2;
    keep(std::move(found));
  }

  static bool shifts(const std::vector<Dimension>& used, const Choice& choice) {
    return choice.shift != 0 &&
           std::find(used.begin(), used.end(), Dimension::sequence) != used.end();
  }

  static void note(TensorMatch& match, Dimension dimension, const Choice& choice) {
    const Reading& reading = choice.of(dimension);
    const int shift = dimension == Dimension::sequence ? choice.shift : 0;
    if (shift != 0) {
      match.assumes.push_back(
          fmt::format("sequence {}: {} ({}) {} one token, because inputs and targets are shifted "
                      "against each other",
                      static_cast<std::int64_t>(reading.value) + shift, reading.value,
                      reading.source, shift < 0 ? "minus" : "plus"));
    } else if (reading.doubt > 0) {
      match.assumes.push_back(
          fmt::format("{} {}: {}", to_string(dimension), reading.value, reading.source));
    }
  }

  std::string name_of(const TensorRule& rule, std::uint64_t bytes_each) const {
    if (bytes_each == 4) return "fp32";
    if (bytes_each == 1) return std::string(rule.elements.narrow_name);
    const bool said = known_.compute && *known_.compute != DType::fp32;
    return said ? std::string(to_string(*known_.compute)) : "fp16/bf16";
  }

  static double relative_error(std::uint64_t bytes, Bytes printed) {
    const auto size = static_cast<double>(printed.value);
    return size > 0 ? std::abs(static_cast<double>(bytes) - size) / size : 0.0;
  }

  // The same tensor by another way to the same numbers counts once, by the less doubtful one.
  void keep(Found found) {
    for (Found& other : found_) {
      if (other.tensor != found.tensor || other.element_bytes != found.element_bytes ||
          other.match.shape != found.match.shape)
        continue;
      if (found.match.doubt < other.match.doubt) other = std::move(found);
      return;
    }
    found_.push_back(std::move(found));
  }

  void drop_covered() {
    std::vector<bool> covered(found_.size());
    for (std::size_t i = 0; i < found_.size(); ++i) covered[i] = is_covered(found_[i]);
    std::size_t i = 0;
    std::erase_if(found_, [&](const Found&) { return covered[i++]; });
  }

  bool is_covered(const Found& found) const {
    if (found.covered_by.empty()) return false;
    return std::any_of(found_.begin(), found_.end(), [&found](const Found& other) {
      return other.tensor == found.covered_by && other.match.bytes == found.match.bytes &&
             other.element_bytes == found.element_bytes && other.match.doubt <= found.match.doubt;
    });
  }

  // Where the sequence as given explains the size, one longer or shorter is a remark only.
  void drop_shifted() {
    if (!printed_) return;
    std::vector<bool> dropped(found_.size());
    for (std::size_t i = 0; i < found_.size(); ++i) {
      if (found_[i].shift == 0) continue;
      const auto straight =
          std::find_if(found_.begin(), found_.end(),
                       [this, i](const Found& other) { return is_shift_of(found_[i], other); });
      if (straight == found_.end()) continue;
      dropped[i] = true;
      straight->match.assumes.push_back(fmt::format("with one token {} the size would be the same",
                                                    found_[i].shift < 0 ? "less" : "more"));
    }
    std::size_t i = 0;
    std::erase_if(found_, [&](const Found&) { return dropped[i++]; });
  }

  static bool is_shift_of(const Found& shifted, const Found& straight) {
    if (straight.shift != 0 || straight.tensor != shifted.tensor ||
        straight.element_bytes != shifted.element_bytes)
      return false;
    for (std::size_t i = 0; i < shifted.match.shape.size(); ++i) {
      const std::uint64_t a = shifted.match.shape[i];
      const std::uint64_t b = straight.match.shape[i];
      if (std::max(a, b) - std::min(a, b) > 1) return false;
    }
    return true;
  }

  JobDimensions known_;
  std::optional<PrintedSize> printed_;
  std::vector<Found> found_;
};

}  // namespace

std::vector<TensorMatch> explain_allocation(Bytes size, double precision,
                                            const JobDimensions& known) {
  return Search(known, PrintedSize{size, precision}).run();
}

std::vector<TensorMatch> all_tensors(const JobDimensions& known) {
  return Search(known, std::nullopt).run();
}

}  // namespace headroom::estimate
