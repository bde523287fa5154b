// SPDX-License-Identifier: Apache-2.0
#include "report/fleet_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "findings/health.h"

namespace headroom::report {
namespace {

using findings::Severity;
using findings::Verdict;
using Ordered = nlohmann::ordered_json;

// Least useful first.
constexpr std::array order = {Verdict::unknown, Verdict::broken,  Verdict::unsuitable,
                              Verdict::no_gpu,  Verdict::limited, Verdict::ok};

std::size_t place_of(Verdict verdict) {
  return static_cast<std::size_t>(std::find(order.begin(), order.end(), verdict) - order.begin());
}

// The text at a key, or "": what a program of ours wrote has it, and whatever else somebody has put
// into the folder must do no harm.
std::string text_at(const Json& object, const char* key) {
  if (!object.is_object()) return "";
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

const Json& list_at(const Json& object, const char* key) {
  static const Json none = Json::array();
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : none;
}

FleetGpu read_gpu(const Json& gpu) {
  FleetGpu read{text_at(gpu, "name"), text_at(gpu, "gfx"), {}};
  if (!gpu.is_object()) return read;
  for (const Json& rung : list_at(gpu, "ladder")) {
    if (!rung.is_object() || rung.value("binding", Json()) != Json(true)) continue;
    const auto limit = rung.find("limit_bytes");
    if (limit != rung.end() && limit->is_number_unsigned())
      read.limit = Bytes{limit->get<std::uint64_t>()};
  }
  return read;
}

Severity severity_of(const std::string& word) {
  for (const Severity one : {Severity::error, Severity::warning}) {
    if (word == to_string(one)) return one;
  }
  return Severity::info;
}

// "2 x AMD Radeon RX 7900 XT (gfx1100), 19.98 GiB", of equal ones in a row.
std::string gpus_of(const FleetMachine& machine) {
  std::vector<std::pair<std::string, int>> kinds;
  for (const FleetGpu& gpu : machine.gpus) {
    std::string kind = printable(gpu.name);
    if (!gpu.gfx.empty()) kind += " (" + printable(gpu.gfx) + ")";
    if (gpu.limit) kind += ", " + to_string(*gpu.limit);
    if (kinds.empty() || kinds.back().first != kind) kinds.emplace_back(kind, 0);
    ++kinds.back().second;
  }
  std::vector<std::string> parts;
  for (const auto& [kind, count] : kinds)
    parts.push_back(count == 1 ? kind : fmt::format("{} x {}", count, kind));
  return join(parts, "; ");
}

std::map<Verdict, std::size_t> count_verdicts(const Fleet& fleet) {
  std::map<Verdict, std::size_t> counts;
  for (const FleetMachine& machine : fleet.machines) ++counts[machine.verdict];
  return counts;
}

std::string headline(const Fleet& fleet) {
  const auto counts = count_verdicts(fleet);
  std::vector<std::string> parts;
  for (const Verdict verdict : order) {
    const auto found = counts.find(verdict);
    if (found != counts.end())
      parts.push_back(fmt::format("{} {}", found->second, to_string(verdict)));
  }
  if (!fleet.unread.empty()) parts.push_back(fmt::format("{} not read", fleet.unread.size()));
  const std::size_t all = fleet.machines.size() + fleet.unread.size();
  return fmt::format("{} {}: {}\n", all, all == 1 ? "machine" : "machines", join(parts, ", "));
}

// What is to be done, once for each thing that was found: on which machines, and the command.
struct ToDo {
  Severity severity = Severity::info;
  std::string next;
  std::vector<std::string> machines;
};

std::map<std::string, ToDo> list_to_do(const Fleet& fleet) {
  std::map<std::string, ToDo> list;
  for (const FleetMachine& machine : fleet.machines) {
    for (const FleetFinding& finding : machine.findings) {
      if (finding.severity == Severity::info) continue;
      ToDo& todo = list[finding.id];
      todo.severity = std::max(todo.severity, finding.severity);
      if (todo.next.empty()) todo.next = finding.next;
      if (todo.machines.empty() || todo.machines.back() != machine.name)
        todo.machines.push_back(machine.name);
    }
  }
  return list;
}

std::string to_do_text(const Fleet& fleet, const Style& style) {
  const auto list = list_to_do(fleet);
  if (list.empty()) return "";
  std::string text = "\n" + style.bold("Found") + "\n";
  for (const auto& [id, todo] : list) {
    text += fold(fmt::format("{} on {}: {}", printable(id), todo.machines.size(),
                             printable(join(todo.machines, ", "))),
                 fmt::format("  {}: ", to_string(todo.severity)), style.width);
    // That was what they were asked.
    if (!todo.next.empty() && todo.next != "headroom check")
      text += "      " + keep_whole(printable(todo.next)) + "\n";
  }
  return text;
}

// Numbers in names count as numbers: gpu9 before gpu10.
std::vector<std::pair<std::string, std::uint64_t>> name_parts(const std::string& name) {
  std::vector<std::pair<std::string, std::uint64_t>> parts;
  std::size_t at = 0;
  while (at < name.size()) {
    const std::size_t digits = std::min(name.find_first_of("0123456789", at), name.size());
    const std::size_t end = std::min(name.find_first_not_of("0123456789", digits), name.size());
    const auto number = parse_u64(name.substr(digits, end - digits));
    parts.emplace_back(name.substr(at, digits - at), number.value_or(0));
    at = end;
  }
  return parts;
}

}  // namespace

Result<FleetMachine> read_fleet_machine(const std::string& name, const Json& document) {
  if (text_at(document, "schema") != "headroom.check/1" || !document.contains("machine") ||
      document["machine"].is_null()) {
    return Error{
        Errc::invalid,
        "expected an answer of headroom check --json about a machine, found something else",
        "headroom check --json > " + name + ".json"};
  }
  FleetMachine machine;
  machine.name = name;
  const std::string verdict = text_at(document, "verdict");
  for (const Verdict one : order) {
    if (verdict == to_string(one)) machine.verdict = one;
  }
  if (document.contains("cause")) {
    machine.cause = text_at(document["cause"], "id");
    machine.title = text_at(document["cause"], "title");
  }
  for (const Json& gpu : list_at(document, "gpus")) machine.gpus.push_back(read_gpu(gpu));
  for (const Json& finding : list_at(document, "findings")) {
    machine.findings.push_back({text_at(finding, "id"), text_at(finding, "next"),
                                severity_of(text_at(finding, "severity"))});
  }
  return machine;
}

void sort_fleet(Fleet& fleet) {
  const auto key = [](const FleetMachine& machine) {
    return std::tuple(place_of(machine.verdict), name_parts(machine.name), machine.name);
  };
  std::sort(fleet.machines.begin(), fleet.machines.end(),
            [&key](const auto& one, const auto& other) { return key(one) < key(other); });
}

bool has_problem(const Fleet& fleet) {
  return !fleet.unread.empty() ||
         std::any_of(fleet.machines.begin(), fleet.machines.end(), [](const FleetMachine& machine) {
           return findings::health_of(machine.verdict) != findings::Health::fine;
         });
}

std::string to_text(const Fleet& fleet, const Style& style) {
  std::vector<std::vector<std::string>> rows = {{"machine", "verdict", "GPUs", "what is the case"}};
  for (const FleetMachine& machine : fleet.machines) {
    rows.push_back({printable(machine.name), std::string(to_string(machine.verdict)),
                    gpus_of(machine), printable(machine.title)});
  }
  std::string text = headline(fleet) + "\n";
  const std::vector<Align> columns(rows.front().size(), Align::left);
  for (const TableLine& line : table(rows, columns, 0, style.width)) {
    text += (line.row == 0 ? style.dim(line.text) : line.text) + "\n";
  }
  for (const UnreadMachine& machine : fleet.unread) {
    text += fold(fmt::format("{}: {}", printable(machine.name), printable(machine.why)),
                 "not read  ", style.width);
  }
  return text + to_do_text(fleet, style);
}

Ordered to_json(const Fleet& fleet) {
  const auto text = [](const std::string& word) {
    return word.empty() ? Ordered(nullptr) : Ordered(word);
  };
  Ordered document{{"schema", "headroom.fleet/1"},
                   {"counts", Ordered::object()},
                   {"machines", Ordered::array()},
                   {"unread", Ordered::array()},
                   {"found", Ordered::array()}};
  for (const auto& [verdict, count] : count_verdicts(fleet))
    document["counts"][std::string(to_string(verdict))] = count;
  for (const FleetMachine& machine : fleet.machines) {
    Ordered gpus = Ordered::array();
    for (const FleetGpu& gpu : machine.gpus) {
      gpus.push_back({{"name", gpu.name},
                      {"gfx", text(gpu.gfx)},
                      {"limit_bytes", gpu.limit ? Ordered(gpu.limit->value) : Ordered(nullptr)}});
    }
    document["machines"].push_back({{"name", machine.name},
                                    {"verdict", to_string(machine.verdict)},
                                    {"cause", text(machine.cause)},
                                    {"title", text(machine.title)},
                                    {"gpus", std::move(gpus)}});
  }
  for (const UnreadMachine& machine : fleet.unread)
    document["unread"].push_back({{"name", machine.name}, {"why", machine.why}});
  for (const auto& [id, todo] : list_to_do(fleet)) {
    document["found"].push_back({{"id", id},
                                 {"severity", to_string(todo.severity)},
                                 {"next", text(todo.next)},
                                 {"machines", todo.machines}});
  }
  return document;
}

}  // namespace headroom::report
