// SPDX-License-Identifier: Apache-2.0
#include "findings/knob_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace headroom::findings {
namespace {

using knowledge::Knob;
using knowledge::KnobValue;

constexpr std::array units = {"B", "KiB", "page", "MiB", "GiB"};

// A plausible amount lies between these shares of what the machine has.
constexpr double least_meant = 1.0 / 16;
constexpr double most_meant = 1.25;
// A limit below this share is probably a mistake.
constexpr double tiny = 1.0 / 64;

std::string unit_words(const std::string& unit) {
  if (unit.empty()) return "a count";
  if (unit == "page") return "pages of 4 KiB";
  if (unit == "%") return "per cent";
  if (unit == "B") return "bytes";
  return unit;
}

// Takes bytes as a double, so that values beyond 64 bits are still compared correctly.
std::string amount(double bytes) {
  constexpr double tib = 1024.0 * 1024 * 1024 * 1024;
  if (bytes >= 1e18) return fmt::format("{:.3g} TiB", bytes / tib);
  return to_string(Bytes{static_cast<std::uint64_t>(bytes)});
}

std::string whole(double number) {
  return fmt::format("{:.0f}", number);
}

ValueProblem in_unit(const Knob& knob, double bytes, std::string why) {
  const double unit = static_cast<double>(knowledge::unit_size(knob.unit)->value);
  return {ValueFault::wrong_unit, std::move(why), whole(bytes / unit)};
}

// Checks whether this machine could have the amount, or could have it if the unit were another one.
std::optional<ValueProblem> check_amount(const Knob& knob, double number, Bytes machine) {
  const double unit = static_cast<double>(knowledge::unit_size(knob.unit)->value);
  const double has = static_cast<double>(machine.value);
  const double asked = number * unit;
  const bool small = knob.limit && asked < tiny * has;
  if (number <= 0 || (asked <= most_meant * has && !small)) return std::nullopt;
  for (const char* other : units) {
    const double size = static_cast<double>(knowledge::unit_size(other)->value);
    const double meant = number * size;
    if (size == unit || meant < least_meant * has || meant > most_meant * has) continue;
    return in_unit(
        knob, meant,
        fmt::format("{} is in {}: this asks for {}, and the machine has {}. As {} it would be {}",
                    knob.name, unit_words(knob.unit), amount(asked), to_string(machine),
                    unit_words(other), amount(meant)));
  }
  const std::string_view then = small        ? "; jobs get nearly nothing"
                                : knob.limit ? "; a job that relies on it fills the RAM"
                                             : "";
  return ValueProblem{small ? ValueFault::too_small : ValueFault::too_large,
                      fmt::format("it asks for {}, and the machine has {}{}", amount(asked),
                                  to_string(machine), then),
                      std::nullopt};
}

std::optional<ValueProblem> check_range(const Knob& knob, double number) {
  if (knob.range && (number < knob.range->first || number > knob.range->second)) {
    return ValueProblem{
        ValueFault::wrong_unit,
        fmt::format("it takes {:g} to {:g}{}", knob.range->first, knob.range->second,
                    knob.unit.empty() ? "" : ", in " + unit_words(knob.unit)),
        std::nullopt};
  }
  const auto count = static_cast<std::uint64_t>(std::max(0.0, number));
  if (knob.power_of_two && (count == 0 || (count & (count - 1)) != 0)) {
    return ValueProblem{ValueFault::wrong_unit, "it takes a power of two", std::nullopt};
  }
  return std::nullopt;
}

std::optional<ValueProblem> check_number(const Knob& knob, const std::string& value,
                                         const MachineSize& size) {
  const auto hex = value.starts_with("0x") ? parse_hex(value) : std::nullopt;
  const auto number = hex ? std::optional(static_cast<double>(*hex)) : parse_double(value);
  const auto unit = knowledge::unit_size(knob.unit);
  if (!number) {
    const auto bytes = parse_bytes(value);
    if (unit && bytes) {
      return in_unit(knob, static_cast<double>(bytes->value),
                     fmt::format("it takes a number without a unit, in {}", unit_words(knob.unit)));
    }
    return ValueProblem{ValueFault::wrong_unit,
                        knob.unit.empty()
                            ? "it takes a number"
                            : fmt::format("it takes a number, in {}", unit_words(knob.unit)),
                        std::nullopt};
  }
  const auto machine = knob.scale == "ram" ? size.ram : size.vram;
  if (unit && !knob.scale.empty() && machine) {
    if (auto problem = check_amount(knob, *number, *machine)) return problem;
  }
  return check_range(knob, *number);
}

}  // namespace

MachineSize measure_machine(const facts::Facts& facts) {
  MachineSize size;
  size.ram = facts.machine.memory.total.optional();
  for (const facts::Gpu& gpu : facts.gpus) {
    const bool integrated = gpu.integrated && *gpu.integrated;
    if (integrated && gpu.vram_total && size.ram) *size.ram += *gpu.vram_total;
    const auto own = integrated ? size.ram : gpu.vram_total.optional();
    if (own && (!size.vram || *own > *size.vram)) size.vram = own;
  }
  return size;
}

std::optional<ValueProblem> check_value(const Knob& knob, const std::string& value,
                                        const MachineSize& size) {
  if (value.empty() || value.find('$') != std::string::npos) return std::nullopt;
  const auto not_a_word = [&](const std::string& words) {
    return ValueProblem{ValueFault::not_a_word,
                        fmt::format("it takes {}; \"{}\" is none of them", words, value),
                        std::nullopt};
  };
  switch (knob.value) {
    case KnobValue::number:
    case KnobValue::fraction:
      return check_number(knob, value, size);
    case KnobValue::words:
      if (std::find(knob.words.begin(), knob.words.end(), value) != knob.words.end()) break;
      return not_a_word(join(knob.words, ", "));
    case KnobValue::bit:
      if (value == "0" || value == "1") break;
      return not_a_word("0 or 1 and ignores other words");
    case KnobValue::toggle:
    case KnobValue::mask:
    case KnobValue::gfx:
    case KnobValue::options:
    case KnobValue::text:
      break;
  }
  return std::nullopt;
}

}  // namespace headroom::findings
