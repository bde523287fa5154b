// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/notices.h"

#include <re2/re2.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "findings/causes/recovery.h"
#include "logs/sentence.h"

namespace headroom::findings {
namespace {

using knowledge::Role;
using logs::Observation;

std::vector<const Observation*> notices_in(const logs::Observations& log) {
  std::vector<const Observation*> notices;
  for (const Observation& one : log.all()) {
    if (one.signature->role == Role::noise) notices.push_back(&one);
  }
  return notices;
}

bool is_same_line(const Observation& one, const Observation& other) {
  return one.log == other.log && one.line == other.line;
}

// The first line that says anything, as trackers put a report's title, without "[Issue]:" and the
// like.
std::string title_of(const Observation& first) {
  static const RE2 label(R"((?i)^\W*(?:issue|bug|question|help|rocm|solved)\b\W*)");
  std::string title(trim(first.text));
  while (RE2::Replace(&title, label, "")) {
  }
  return to_lower(trim(title));
}

// Whether a sentence speaks of the message that it quotes.
bool quotes_a_message(const Observation& line) {
  static const RE2 quoted(
      R"((?i)["`“'][^"`”']{12,}["`”'][^.!?]{0,30}\b(?:messages?|warnings?|lines?|notices?|logs?|outputs?|errors?)\b)"
      R"(|\b(?:get(?:s|ting)?|got|se(?:e|es|eing)|prints?|shows?|says?|outputs?|messages?|warnings?|mean(?:s|ing)?|about|lines?)\b[^.!?]{0,40}["`“'][^"`”']{12,})");
  return RE2::PartialMatch(line.text, quoted);
}

// Whether a sentence announces the message, which comes on its own line: "I get these logs:".
bool is_announced(const logs::Observations& log, const Observation& notice) {
  static const RE2 announces(
      R"((?i)\b(?:the following|these|this|such) (?:\w+ )?(?:logs?|messages?|warnings?|lines?|notices?|outputs?)\b[^.!?]{0,20}[:.]?\s*$)");
  constexpr std::uint64_t near = 4;  // A blank line and a fence may be between.
  const auto told = log.of("sentence");
  return std::any_of(told.begin(), told.end(), [&](const Observation* one) {
    const bool is_before = one->log == notice.log && one->line < notice.line;
    return is_before && notice.line - one->line <= near && RE2::PartialMatch(one->text, announces);
  });
}

// Whoever cannot find how or where to do something tells of no fault.
std::string without_what_is_sought(std::string text) {
  static const RE2 sought(
      R"((?i)\b(?:can.?t|cannot|could(?:n.t| not)|unable to|not able to) (?:find|figure out|see|tell)\b[^.!?]{0,16}\b(?:ways?|how|why|where|what|documentation|docs|information|infos?|explanation)\b)");
  RE2::GlobalReplace(&text, sought, "");
  return text;
}

// Whether a person tells of more than of a message.
bool tells_of_worse(const logs::Observations& log, const std::vector<const Observation*>& notices) {
  static const RE2 worse(
      R"((?i)crash|segfault|segmentation|\bhang|\bhung|freez|froze|\bstuck|\bfail|\bdie[sd]?\b|\babort|\bkill|black (?:image|screen)|garbage|gibberish|corrupt|\bnan\b|wrong|incorrect|\bslow|out of memory|\boom\b|\bbroken|\bbreaks?\b|broke\b|\breset|\breboot|no longer|stopped|\bunable\b|cannot|can.?t\b|won.?t\b|\bnot (?:\w+ )?(?:work|run|start|load|generat|us(?:e|ing)|detect|find|found|finish|train|see|boot|recogni|support)|n.t (?:\w+ )?(?:work|run|start|load|generat|use|detect|find|finish|train|see|boot|recogni|support))");
  const auto is_notice = [&](const Observation& line) {
    return std::any_of(notices.begin(), notices.end(),
                       [&](const Observation* one) { return is_same_line(*one, line); });
  };
  return std::any_of(log.all().begin(), log.all().end(), [&](const Observation& one) {
    const bool is_told = one.id() == "sentence" || one.id() == "trouble-words";
    return is_told && logs::is_sentence(one.text) && !is_notice(one) &&
           RE2::PartialMatch(without_what_is_sought(one.text), worse);
  });
}

}  // namespace

const Observation* asks_about_a_notice(const logs::Observations& log) {
  const auto notices = notices_in(log);
  if (notices.empty() || log.all().empty() || standing_failure(log) != nullptr) return nullptr;
  const Observation* about = nullptr;
  constexpr std::size_t least_title = 20;
  const Observation& first = log.all().front();
  const std::string title = first.line == 1 ? title_of(first) : "";
  for (const Observation* notice : notices) {
    const bool in_title =
        title.size() >= least_title && to_lower(notice->text).find(title) != std::string::npos;
    if (about == nullptr && (in_title || quotes_a_message(*notice) || is_announced(log, *notice)))
      about = notice;
  }
  return about == nullptr || tells_of_worse(log, notices) ? nullptr : about;
}

}  // namespace headroom::findings
