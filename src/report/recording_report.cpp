// SPDX-License-Identifier: Apache-2.0
#include "report/recording_report.h"

#include <fmt/format.h>

#include "base/document.h"
#include "report/style.h"

namespace headroom::report {

RecordingFacts::RecordingFacts(const allocator::Recording& recording)
    : pid(recording.pid),
      device(recording.device),
      closed(recording.closed),
      events(recording.events.size()),
      device_events(recording.device_events),
      lost(recording.lost),
      torn(recording.torn),
      damaged(recording.damaged) {}

namespace {

std::string_view word_for(allocator::DeviceEvents events) {
  switch (events) {
    case allocator::DeviceEvents::none:
      return "none";
    case allocator::DeviceEvents::some:
      return "some";
    case allocator::DeviceEvents::all:
      break;
  }
  return "all";
}

}  // namespace

Json to_json(const RecordingFacts& facts) {
  return {{"pid", facts.pid},         {"device", facts.device},
          {"closed", facts.closed},   {"events", facts.events},
          {"lost", facts.lost},       {"torn", facts.torn},
          {"damaged", facts.damaged}, {"device_events", word_for(facts.device_events)}};
}

std::string introduce(const std::string& name, const RecordingFacts& facts, std::size_t width) {
  std::string text = fmt::format("{}: flight recording of process {}", name, facts.pid);
  if (!facts.device.empty()) text += " on " + facts.device;
  text += facts.closed ? ", which ended in order" : ", which was killed or still runs";
  text += fmt::format("; {} events", facts.events);
  if (facts.torn > 0) text += ", without the one being written";
  text += '\n';
  if (facts.lost > 0)
    text += fmt::format(
        "{} older events were overwritten. What was live then is inferred from later events.\n",
        facts.lost);
  if (facts.damaged > 0)
    text += fmt::format("{} records are damaged and left out.\n", facts.damaged);
  return fit(text, width);
}

}  // namespace headroom::report
