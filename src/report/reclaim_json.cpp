// SPDX-License-Identifier: Apache-2.0
#include "report/reclaim_json.h"

#include "base/document.h"
#include "report/reclaim_text.h"

namespace headroom::report {
namespace {

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json to_json(const plan::Held& held) {
  return {{"pid", held.pid},
          {"command", text_or_null(held.command)},
          {"user", text_or_null(held.user)},
          {"unit", text_or_null(held.unit)},
          {"container", text_or_null(held.container)},
          {"where", facts::to_string(held.whereabouts)},
          {"held_bytes", held.bytes.value}};
}

Json to_json(const plan::Measurement& now) {
  return {{"capacity_bytes", now.capacity.value},
          {"used_bytes", now.used.value},
          {"free_bytes", now.free().value},
          {"dead_bytes", now.dead().value},
          {"unowned_bytes", now.unowned ? Json(now.unowned->value) : Json(nullptr)},
          {"complete", now.complete}};
}

Json to_json(const plan::RungPlan& rung) {
  return {{"rung", plan::to_string(rung.rung)},
          {"what", rung.what},
          {"commands", rung.commands},
          {"dies", rung.dies},
          {"dies_too", text_or_null(rung.dies_too)},
          {"memory", plan::to_string(rung.contents)},
          {"desktop", text_or_null(rung.desktop)},
          {"cannot", text_or_null(rung.cannot)},
          {"needs_root", rung.needs_root},
          {"within", rung.within}};
}

Json holders(const plan::ReclaimPlan& plan) {
  Json list = Json::array();
  for (const plan::Held& held : plan.now.holders) {
    Json one = to_json(held);
    one["chosen"] = false;
    one["why"] = nullptr;
    one["choose"] = nullptr;
    for (const plan::Target& target : plan.targets) {
      if (target.held.pid != held.pid) continue;
      one["chosen"] = true;
      one["why"] = target.why;
    }
    for (const plan::Spared& spared : plan.spared) {
      if (spared.held.pid != held.pid) continue;
      one["why"] =
          (spared.named.empty() ? "" : "named by " + spared.named + ", left alone: ") + spared.why;
      one["choose"] = text_or_null(spared.choose);
    }
    list.push_back(std::move(one));
  }
  return list;
}

Json to_json(const plan::RungDone& done) {
  return {{"rung", plan::to_string(done.rung)},
          {"started_ms", done.started_ms},
          {"ended_ms", done.ended_ms},
          {"did", done.did},
          {"skipped", text_or_null(done.skipped)},
          {"failed", text_or_null(done.failed)},
          {"freed_bytes", done.freed ? Json(done.freed->value) : Json(nullptr)}};
}

Json to_json(const plan::ReclaimOutcome& outcome) {
  Json timeline = Json::array();
  for (const plan::RungDone& done : outcome.timeline) timeline.push_back(to_json(done));
  return {{"end", plan::to_string(outcome.end)},
          {"why", text_or_null(outcome.why)},
          {"after", outcome.after ? to_json(*outcome.after) : Json(nullptr)},
          {"timeline", std::move(timeline)}};
}

Json to_json(const Reclaimed& one) {
  const plan::ReclaimPlan& plan = one.plan;
  Json rungs = Json::array();
  for (const plan::RungPlan& rung : plan.rungs) rungs.push_back(to_json(rung));
  Json refused = Json::array();
  for (const plan::RefusedWay& way : plan.refused) {
    refused.push_back({{"name", way.name}, {"command", way.command}, {"rule", way.rule}});
  }
  Json host = Json::array();
  for (const plan::HostStep& step : plan.host_steps) {
    host.push_back({{"what", step.what}, {"commands", step.commands}});
  }
  Json suspects = Json::array();
  for (const plan::Client& client : plan.suspects) {
    suspects.push_back({{"pid", client.pid}, {"command", text_or_null(client.command)}});
  }
  const plan::ReclaimOutcome* outcome = one.outcome ? &*one.outcome : nullptr;
  return {{"pci", plan.pci},
          {"name", plan.title},
          {"integrated", plan.integrated},
          {"wanted_free_bytes", plan.options.free ? Json(plan.options.free->value) : Json(nullptr)},
          {"up_to", plan::to_string(plan.options.up_to)},
          {"now", to_json(plan.now)},
          {"enough", plan::is_enough(plan, plan.now)},
          {"holders", holders(plan)},
          {"suspects", std::move(suspects)},
          {"desktop", plan.desktop},
          {"rungs", std::move(rungs)},
          {"refused", std::move(refused)},
          {"for_host", plan.for_host},
          {"host", std::move(host)},
          {"notes", plan.notes},
          {"outcome", outcome != nullptr ? to_json(*outcome) : Json(nullptr)},
          {"next", next_commands(plan, outcome)}};
}

}  // namespace

Json to_json(const std::vector<Reclaimed>& gpus) {
  Json list = Json::array();
  for (const Reclaimed& one : gpus) list.push_back(to_json(one));
  return {{"schema", "headroom.reclaim/1"}, {"gpus", std::move(list)}};
}

}  // namespace headroom::report
