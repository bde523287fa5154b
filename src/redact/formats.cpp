// SPDX-License-Identifier: Apache-2.0
// Files of single formats: serial numbers, command lines, environments, accounts.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "redact/redactor.h"
#include "redact/settings.h"
#include "redact/words.h"

namespace headroom::redact {
namespace {

// Numbers that tell one card from all others: amdgpu's unique_id (16 hexadecimal digits in sysfs,
// decimal in KFD's properties) and the hive ids that are made from them.
bool is_id_name(std::string_view name) {
  return name == "unique_id" || name == "hive_id" || name == "xgmi_hive_id";
}

bool is_serial_name(std::string_view name) {
  static constexpr std::array<std::string_view, 9> names{
      "serial", "serial_number", "product_uuid", "machine-id",       "boot_id",
      "sn",     "asset_tag",     "machine_id",   "chassis_asset_tag"};
  return std::find(names.begin(), names.end(), name) != names.end() || name.ends_with("_serial");
}

// "Serial Number" → "serial_number".
std::string plain_key(std::string_view key) {
  std::string plain = to_lower(trim(key));
  std::replace(plain.begin(), plain.end(), ' ', '_');
  return plain;
}

// "ExecStart=": letters only.
bool is_unit_key(std::string_view key) {
  if (!key.ends_with('=')) return false;
  key.remove_suffix(1);
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

}  // namespace

std::string Redactor::number(std::string_view digits, bool hexadecimal) {
  const bool marked = digits.starts_with("0x");
  const auto id = hexadecimal || marked ? parse_hex(digits) : parse_u64(digits);
  const std::string was(digits);
  if (!id) return replaced(Kind::serial, was, stand_ins_.serial(was));
  const std::uint64_t is = stand_ins_.unique_id(*id);
  std::string written = fmt::format("{}", is);
  if (hexadecimal) written = fmt::format("{:016x}", is);
  if (marked) written = fmt::format("{:#x}", is);
  stand_ins_.add_known_serial(was, written);
  return is == *id ? was : replaced(Kind::serial, was, written);
}

// A file whose whole content is one number of this kind.
std::string Redactor::serial_file(std::string_view name, std::string_view bytes) {
  const std::string_view value = trim(bytes);
  if (value.empty() || (!is_id_name(name) && !is_serial_name(name))) return std::string(bytes);
  const std::size_t start = bytes.find(value);
  const std::string was(value);
  const std::string is = is_id_name(name) ? number(value, name == "unique_id")
                                          : replaced(Kind::serial, was, stand_ins_.serial(was));
  return std::string(bytes.substr(0, start)) + is + std::string(bytes.substr(start + value.size()));
}

// "unique_id 123" of KFD's properties, "Serial : abc" of cpuinfo.
std::string Redactor::serial_lines(const std::string& text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    std::size_t sign = line.find_first_of(":=");
    if (sign == std::string_view::npos) sign = line.find_first_of(" \t");
    const std::string key =
        sign == std::string_view::npos ? std::string() : plain_key(line.substr(0, sign));
    if (is_id_name(key) || is_serial_name(key)) {
      const std::string_view value = trim(line.substr(sign + 1));
      const std::size_t start = value.empty() ? line.size() : line.find(value, sign + 1);
      result += line.substr(0, start);
      const std::string was(value);
      if (!value.empty()) {
        result += is_id_name(key) ? number(value, false)
                                  : replaced(Kind::serial, was, stand_ins_.serial(was));
      }
    } else {
      result += line;
    }
    if (end < text.size()) result += '\n';
    at = end + 1;
  }
  return result;
}

// The program's own name is what people know a process by. Programs that write their state over
// their arguments separate it by a blank.
std::string Redactor::command_line(std::string_view bytes) {
  const std::size_t end = bytes.find_first_of(std::string_view("\0 ", 2));
  std::string_view program = bytes.substr(0, end);
  program = program.substr(program.rfind('/') + 1);
  if (program.empty()) return "";
  const std::string is = names(program) + '\0';
  return replaced(Kind::argument, std::string(bytes), is);
}

std::string Redactor::variable(std::string_view name, std::string_view value) {
  std::string result = text(value);
  if (!name.ends_with("VERSION")) result = addresses(result);
  // What a command would print is not known, and the command may be told as little.
  if (result.find_first_of("`$") != std::string::npos && result.find("$(") != std::string::npos) {
    return withheld(Kind::variable, result);
  }
  return result;
}

std::string Redactor::environment(std::string_view bytes) {
  std::string result;
  for (const std::string_view entry : split(bytes, '\0')) {
    const std::size_t sign = entry.find('=');
    if (entry.empty()) continue;
    if (sign == std::string_view::npos || !is_kept_variable(entry.substr(0, sign))) {
      ++counts_[static_cast<std::size_t>(Kind::variable)];
      continue;
    }
    const std::string_view name = entry.substr(0, sign);
    result += fmt::format("{}={}", name, variable(name, entry.substr(sign + 1))) + '\0';
  }
  return result;
}

// NAME=VALUE as a shell or unit writes it, in quotation marks or not.
std::string Redactor::assignment(const std::string& word) {
  const std::size_t start = word.starts_with('"') || word.starts_with('\'') ? 1 : 0;
  const std::size_t sign = word.find('=');
  if (sign == std::string::npos) return withheld(Kind::line, word);
  if (!is_kept_variable(std::string_view(word).substr(start, sign - start))) {
    return withheld(Kind::variable, word);
  }
  const std::string name = word.substr(start, sign - start);
  return word.substr(0, sign + 1) + variable(name, word.substr(sign + 1));
}

// The words of a line, redacted; a backslash at its end, which continues it, stays.
std::string Redactor::assignments(std::string_view line) {
  const bool goes_on = line.ends_with('\\');
  if (goes_on) line.remove_suffix(1);
  return replace_quoted_words(line, [&](const std::string& word) { return assignment(word); }) +
         (goes_on ? "\\" : "");
}

// Lines that set what GPU software reads stay, on their line; all others become empty.
std::string Redactor::shell(std::string_view bytes) {
  std::string result;
  for (const std::string_view line : split(bytes, '\n')) {
    const std::string_view code = line.substr(0, line.find(" #"));
    std::string_view rest = trim(code);
    if (rest.starts_with("export ")) rest = trim(rest.substr(7));
    const std::string_view name = rest.substr(0, std::min(rest.find('='), rest.size()));
    if (name.size() < rest.size() && is_kept_variable(name)) {
      const auto before = static_cast<std::size_t>(rest.data() - code.data());
      result += code.substr(0, before);
      result += assignments(rest);
    } else if (!trim(line).empty()) {
      ++counts_[static_cast<std::size_t>(Kind::line)];
    }
    result += '\n';
  }
  result.pop_back();  // What follows the last end of line is no line.
  return result;
}

// Sections and Environment= stay; of every other setting the name, because a unit's commands and
// options may hold anything.
std::string Redactor::unit(std::string_view bytes) {
  std::string result;
  bool continues = false;
  bool kept = false;
  for (const std::string_view line : split(bytes, '\n')) {
    const std::string_view rest = trim(line);
    const bool goes_on = line.ends_with('\\');
    const std::size_t sign = line.find('=');
    const std::size_t body = continues || sign == std::string_view::npos ? 0 : sign + 1;
    if (!continues) kept = rest.starts_with("Environment=");
    if (rest.starts_with('[') && rest.ends_with(']') && !continues) {
      result += names(line);
    } else if (kept) {
      result += line.substr(0, body);
      result += assignments(line.substr(body));
    } else if (!rest.empty()) {
      const bool named = is_unit_key(line.substr(0, body));
      result += named ? line.substr(0, body) : "";
      result += goes_on ? "\\" : "";
      if (line.size() > body + (goes_on ? 1 : 0)) ++counts_[static_cast<std::size_t>(Kind::line)];
    }
    continues = goes_on;
    result += '\n';
  }
  result.pop_back();
  return result;
}

// name:password:uid:gid:full name:home:shell. The full name goes, the name and home are stand-ins.
std::string Redactor::accounts(std::string_view bytes) {
  std::string result;
  for (const std::string_view line : split(bytes, '\n')) {
    std::vector<std::string> fields;
    for (const std::string_view field : split(line, ':')) fields.emplace_back(field);
    constexpr std::uint64_t first_person = 1000;
    constexpr std::size_t full_name = 4;
    const auto uid = fields.size() > full_name ? parse_u64(fields[2]) : std::nullopt;
    if (uid && *uid >= first_person && !fields[full_name].empty()) {
      fields[full_name] = replaced(Kind::user_name, fields[full_name], "");
    }
    result += names(join(fields, ":")) + "\n";
  }
  result.pop_back();
  return result;
}

}  // namespace headroom::redact
