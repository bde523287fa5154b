// SPDX-License-Identifier: Apache-2.0
#include "logs/line_prefix.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

namespace headroom::logs {
namespace {

enum class When {
  anywhere,
  behind_a_time,  // Alone it would be any word with a colon.
};

// Groups: (?P<time>…), (?P<uptime>…) which yields to a time, (?P<level>…) and (?P<origin>…), all
// optional.
struct Form {
  const char* pattern;
  When when = When::anywhere;
};

constexpr std::array forms = {
    // dmesg, also with the thread that printed it, raw (-r), decoded (-x), -T, -e and -d.
    Form{
        R"((?:<\d{1,3}>|\w+\s*:\w+\s*: )?\[\s*(?P<uptime>\d+\.\d{3,9})\](?:\[\s*[TC]\d+\])?:?\s*)"},
    Form{R"(\[(?P<time>[A-Z]\w\w [A-Z]\w\w\s+\d+ [\d:]+ \d{4})\]\s*)"},
    Form{R"(\[(?P<time>[A-Z][a-z]{2}\s?\d+ \d\d:\d\d)\]\s*)"},
    Form{R"(\[\s*\+\d+\.\d+\]\s*)"},
    // RFC 5424 as rsyslog forwards it; the priority of RFC 3164 alone.
    Form{R"(<\d{1,3}>1 (?P<time>\S+) \S+ (?P<origin>\S+) \S+ \S+ (?:-|(?:\[[^\]]*\])+)\s*)"},
    Form{R"(<\d{1,3}>)"},
    // ISO 8601 and its kin: docker logs -t, kubectl --timestamps, journald, most programs. SGLang
    // writes its rank into the brackets.
    Form{
        R"(\[(?P<time>\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)(?: (?P<origin>[A-Z]{2}\d+(?: [A-Z]{2}\d+)*))?\]:?\s*)"},
    Form{
        R"((?P<time>\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?):?(?:\s+|$))"},
    // logfmt, as Go's slog and logrus write it.
    Form{R"re((?:time|ts)="?(?P<time>\d{4}-\d\d-\d\d[^"\s]*)"?\s+)re"},
    // syslog and journalctl, also -o short-precise, with and without the host.
    Form{
        R"((?P<time>[A-Z][a-z]{2}\s+\d{1,2} \d\d:\d\d:\d\d(?:\.\d+)?)\s+(?:[\w.-]+ )?(?P<origin>[\w.@/:\\-]+)(?:\[\d+\])?:(?:\s+|$))"},
    // journalctl -o short-iso and -o short-unix: the time is taken, the host and the unit are left.
    Form{R"((?:[\w.-]+ )?(?P<origin>[\w.@/\\-]+)\[\d+\]:(?:\s+|$))", When::behind_a_time},
    Form{R"([\w.-]+ (?P<origin>[\w.@/\\-]+):(?:\s+|$))", When::behind_a_time},
    Form{R"((?P<origin>kernel):\s+)"},
    // glog, c10 and torch.distributed: E0905 12:00:00.123456 123 file.cc:1].
    Form{R"(\[?[IWEF](?P<time>\d{3,4} \d\d:\d\d:\d\d(?:\.\d+)?)\s+(?:\d+\s+)?[\w./+-]+:\d+\]\s*)"},
    // vLLM's and Megatron's own level and time.
    Form{R"((?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL)\s+(?P<time>\d\d-\d\d \d\d:\d\d:\d\d)\s+)"},
    // loguru.
    Form{
        R"(\| (?P<level>TRACE|DEBUG|INFO|SUCCESS|WARNING|ERROR|CRITICAL)\s*\| (?:\S+:\S+:\d+ - )?)",
        When::behind_a_time},
    // docker compose and docker service; CRI; kubectl --prefix.
    Form{R"((?P<origin>[\w.@-]*[A-Za-z][\w.@-]*)\s+\|(?: |$))"},
    Form{R"((?:stdout|stderr) [FP](?: |$))"},
    Form{R"(\[(?P<origin>pod/[\w./-]+)\]\s*)"},
    // rich's handler; clocks.
    Form{R"(\[(?P<time>\d\d/\d\d/\d\d \d\d:\d\d:\d\d)\]\s*)"},
    Form{R"(\[(?P<time>\d\d:\d\d:\d\d(?:[.,]\d+)?)\]\s*)"},
    Form{R"((?P<time>\d\d:\d\d:\d\d(?:[.,]\d+)?)\s+)"},
    // torchrun's ranks, Composer's streams, mpirun --tag-output, vLLM's and Ray's processes.
    Form{R"(\[(?P<origin>(?i:rank)\s?\d+|(?:default|trainer|worker)\d+|stdout|stderr)\]:\s*)"},
    Form{R"((?P<origin>[Rr]ank\s?\d+):\s+)"},
    Form{R"(\[\d+,(?P<origin>\d+)\]<std(?:out|err)>:\s*)"},
    Form{R"(\((?P<origin>\w[\w. -]*pid=\d+[^)]*)\)\s+)"},
    // Windows PowerShell, of what a program wrote to its standard error.
    Form{R"((?P<origin>[\w.-]+\.exe|python[\d.]*|pip[\d.]*|conda|git|docker|ollama) : )"},
};

struct CompiledForm {
  std::unique_ptr<const RE2> pattern;
  When when = When::anywhere;
  int time = 0, uptime = 0, level = 0, origin = 0;  // Numbers of groups; 0: none.
};

std::vector<CompiledForm> compile() {
  std::vector<CompiledForm> compiled;
  for (const Form& form : forms) {
    CompiledForm one{std::make_unique<const RE2>(form.pattern, RE2::Latin1), form.when};
    for (const auto& [name, number] : one.pattern->NamedCapturingGroups()) {
      (name == "time"     ? one.time
       : name == "uptime" ? one.uptime
       : name == "level"  ? one.level
                          : one.origin) = number;
    }
    compiled.push_back(std::move(one));
  }
  return compiled;
}

// Words that stand where a name may stand.
bool is_name(std::string_view word) {
  constexpr std::array<std::string_view, 8> levels = {"TRACE", "DEBUG",   "INFO",  "SUCCESS",
                                                      "WARN",  "WARNING", "ERROR", "CRITICAL"};
  return std::find(levels.begin(), levels.end(), word) == levels.end();
}

constexpr int deepest = 8;  // So many prefixes at most are taken off.

// Takes one prefix off line.body and tells of it, its end being counted from there; nothing if none
// is there.
std::optional<Prefix> take_one(Line& line) {
  static const std::vector<CompiledForm> compiled = compile();
  const re2::StringPiece body(line.body.data(), line.body.size());
  for (std::size_t which = 0; which < compiled.size(); ++which) {
    const CompiledForm& form = compiled[which];
    if (form.when == When::behind_a_time && line.time.empty()) continue;
    std::array<re2::StringPiece, 3> groups;
    const int wanted = form.pattern->NumberOfCapturingGroups() + 1;
    if (!form.pattern->Match(body, 0, body.size(), RE2::ANCHOR_START, groups.data(), wanted)) {
      continue;
    }
    const auto group = [&](int number) -> std::string_view {
      const re2::StringPiece& found = groups[static_cast<std::size_t>(number)];
      return number == 0 ? std::string_view{} : std::string_view(found.data(), found.size());
    };
    const std::string_view origin = group(form.origin);
    if (!is_name(origin)) continue;
    if (form.time != 0) line.time = group(form.time);
    if (form.uptime != 0 && line.time.empty()) line.time = group(form.uptime);
    if (line.origin.empty()) line.origin = origin;
    if (form.level != 0) line.level = group(form.level);
    line.body.remove_prefix(groups[0].size());
    return Prefix{which, origin, groups[0].size(), form.when == When::anywhere};
  }
  return std::nullopt;
}

}  // namespace

Line parse_prefix(std::string_view text) {
  Line line;
  line.body = text;
  for (int depth = 0; depth < deepest && take_one(line); ++depth) {
  }
  return line;
}

std::vector<Prefix> find_prefixes(std::string_view text) {
  std::vector<Prefix> prefixes;
  Line line;
  line.body = text;
  for (int depth = 0; depth < deepest; ++depth) {
    auto prefix = take_one(line);
    if (!prefix) break;
    prefix->end = text.size() - line.body.size();
    prefixes.push_back(*prefix);
  }
  return prefixes;
}

}  // namespace headroom::logs
