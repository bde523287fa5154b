// SPDX-License-Identifier: Apache-2.0
#include "findings/knob_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "findings/knob_context.h"
#include "findings/knob_items.h"
#include "findings/knob_masks.h"
#include "findings/knob_value.h"

namespace headroom::findings {
namespace {

using Item = KnobItem;
using facts::Scope;
using facts::Setting;
using knowledge::Knob;
using knowledge::KnobClass;
using knowledge::KnobValue;

constexpr std::string_view write_export = "write export in front of it";

class Audit {
 public:
  Audit(const facts::Facts& facts, const knowledge::GpuTables& tables)
      : knobs_(tables.knobs), context_(facts, tables), size_(measure_machine(facts)) {}

  std::vector<Judgement> run(const std::vector<Setting>& settings) {
    items_ = make_knob_items(settings, knobs_);
    for (Item& item : items_) judge_alone(item);
    judge_repetitions();
    judge_masks();
    for (Item& item : items_) judge_beside_others(item);
    for (Item& item : items_) judge_class(item);
    std::vector<Judgement> judged;
    for (Item& item : items_) judged.push_back(finish(item));
    return judged;
  }

 private:
  static bool is_concluded(const Item& item) { return item.judged.verdict != KnobVerdict::keep; }
  static void conclude(Item& item, KnobVerdict verdict, std::string why, std::string advice = "") {
    item.judged.verdict = verdict;
    item.judged.why = std::move(why);
    item.judged.advice = std::move(advice);
  }
  // Whether the item has any effect with which another could interfere.
  static bool active(const Item& item) {
    const KnobVerdict verdict = item.judged.verdict;
    return item.meaning != nullptr && verdict != KnobVerdict::no_effect &&
           verdict != KnobVerdict::unknown &&
           !knowledge::is_default(*item.meaning, item.judged.value);
  }

  // ---- what follows from the row, the value and the machine ----

  void judge_alone(Item& item) {
    if (item.row == nullptr) {
      judge_unknown(item);
      return;
    }
    item.judged.does = item.row->does;
    if (!item.judged.setting.exported) {
      if (is_dangerous_override(item)) {
        conclude(item, KnobVerdict::no_effect,
                 "it is set in the shell but not exported, so no program sees it; exported it "
                 "would be dangerous",
                 "remove it");
        return;
      }
      conclude(item, KnobVerdict::no_effect,
               "it is set in the shell but not exported, so no program sees it",
               std::string(write_export));
      return;
    }
    if (judge_value(item)) return;
    if (item.meaning->value == KnobValue::gfx) {
      judge_override(item);
      return;
    }
    if (const auto module = context_.module_in_use(*item.row)) {
      const std::string name = *module + item.judged.name.substr(item.judged.name.find('.'));
      conclude(item, KnobVerdict::no_effect, "the driver of this machine uses " + *module,
               fmt::format("write {}={}", name, item.judged.value));
      item.judged.remains = {name, item.judged.value};
      return;
    }
    if (std::string why = context_.without_rocm(*item.row); !why.empty()) {
      conclude(item, KnobVerdict::no_effect, std::move(why), "remove it");
      return;
    }
    std::string reason = context_.not_read_here(*item.row);
    if (reason.empty()) reason = context_.means_nothing_here(*item.meaning);
    if (!reason.empty()) conclude(item, KnobVerdict::no_effect, std::move(reason), instead(item));
  }

  void judge_unknown(Item& item) {
    const bool option = item.judged.is_option();
    const std::size_t dot = item.judged.name.find('.');
    const std::string canonical =
        option ? "PYTORCH_ALLOC_CONF" + item.judged.name.substr(item.judged.name.find(':'))
               : item.judged.name;
    const auto meant = knobs_.meant(canonical);
    if (dot != std::string::npos && !option &&
        knobs_.exists(item.judged.name.substr(0, dot), item.judged.name.substr(dot + 1))) {
      item.judged.why = "a driver parameter that has nothing to do with memory";
      return;
    }
    if (!meant && !option && dot == std::string::npos) {
      item.judged.verdict = KnobVerdict::unknown;
      item.judged.ours = false;
      item.judged.why = "not a GPU setting that headroom knows";
      return;
    }
    std::string why = "nothing reads a variable of this name";
    if (option) why = "the allocator has no such option and stops with an error";
    if (!option && dot != std::string::npos) {
      why = fmt::format("{} has no such parameter and only notes it in the kernel log",
                        item.judged.name.substr(0, dot));
    }
    std::string advice = "remove it, or look for the right name";
    if (meant) {
      const std::size_t colon = meant->find(':');
      advice = fmt::format("did you mean {}?", option ? meant->substr(colon + 1) : *meant);
    }
    conclude(item, KnobVerdict::unknown, std::move(why), std::move(advice));
  }

  bool judge_value(Item& item) {
    const auto problem = check_value(*item.row, item.judged.value, size_);
    if (!problem) return false;
    if (problem->fault == ValueFault::too_large || problem->fault == ValueFault::too_small) {
      if (item.meaning->limit) {
        conclude(item, KnobVerdict::dangerous, problem->why,
                 "set it below the RAM, with a reserve for the system");
      } else if (item.meaning->scale == "vram") {
        conclude(item, KnobVerdict::no_effect, problem->why, "remove it, or choose less");
      }
      return is_concluded(item);
    }
    const bool word = problem->fault == ValueFault::not_a_word;
    std::string advice = word ? advice_for_word(item) : instead(item);
    if (problem->meant && item.meaning->instead.empty()) {
      advice = fmt::format("write {}={}", item.judged.name, *problem->meant);
      item.judged.remains = {item.judged.name, *problem->meant};
    }
    conclude(item, word ? KnobVerdict::unknown : KnobVerdict::wrong_unit, problem->why, advice);
    return true;
  }

  static std::string advice_for_word(const Item& item) {
    const auto toggle = knowledge::parse_toggle(item.judged.value);
    if (item.row->value != KnobValue::bit || !toggle) return "write one of these, or remove it";
    return fmt::format("write {}={}, if it is needed", item.judged.name, *toggle ? 1 : 0);
  }

  bool is_dangerous_override(const Item& item) const {
    if (item.meaning->value != KnobValue::gfx) return false;
    const auto said = context_.judge_override(item.judged.value);
    return said && said->dangerous;
  }

  void judge_override(Item& item) {
    const auto said = context_.judge_override(item.judged.value);
    if (!said) return;
    item.judged.why = said->why;
    if (said->dangerous) {
      conclude(item, KnobVerdict::dangerous, said->why,
               said->instead.empty() ? "remove it" : "remove it, and " + said->instead);
    } else if (said->needless) {
      conclude(item, KnobVerdict::no_effect, said->why, "remove it");
    }
  }

  static std::string instead(const Item& item) {
    return item.meaning->instead.empty() ? "remove it" : item.meaning->instead;
  }

  // ---- what follows from the settings beside it ----

  // Judges names that are set twice. In one file the later setting wins; in two places it depends
  // on who starts the job.
  void judge_repetitions() {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      Item& item = items_[i];
      if (item.row == nullptr || item.judged.is_option() || is_concluded(item)) continue;
      for (std::size_t j = i + 1; j < items_.size(); ++j) {
        const Item& later = items_[j];
        if (later.group != item.group || later.judged.is_option()) continue;
        if (later.meaning != item.meaning || later.row->value == KnobValue::gfx) continue;
        judge_pair(item, later);
        break;
      }
    }
  }

  static void judge_pair(Item& item, const Item& later) {
    const facts::Source& other = later.judged.setting.source;
    const bool same_value = later.judged.value == item.judged.value;
    if (later.judged.name != item.judged.name) {
      if (later.row == item.row) return;  // These are overrides for different nodes.
      if (same_value) return;
      conclude(item, KnobVerdict::contradictory,
               fmt::format("{} is another name for it and says {}", later.judged.name,
                           later.judged.value),
               "keep one of the two");
    } else if (item.judged.setting.source.path == other.path && other.line > 0) {
      conclude(item, KnobVerdict::no_effect, fmt::format("line {} sets it again", other.line),
               "remove this one");
    } else if (!same_value && item.judged.setting.scope != Scope::modprobe) {
      conclude(item, KnobVerdict::contradictory,
               fmt::format("{} says {}", other.path, later.judged.value),
               "set it in one place only");
    }
  }

  void judge_masks() {
    std::map<std::size_t, std::vector<facts::Mask>> masks;
    for (const Item& item : items_) {
      if (item.row == nullptr || item.row->value != KnobValue::mask || is_concluded(item)) continue;
      masks[item.group].push_back(
          {item.judged.name, item.judged.value, item.judged.setting.source});
    }
    for (const auto& [group, list] : masks) {
      for (const MaskProblem& problem : check_masks(list, context_.gpu_count())) {
        for (Item& item : items_) {
          if (item.group != group || item.judged.name != problem.name || is_concluded(item))
            continue;
          conclude(item, KnobVerdict::contradictory, problem.why,
                   problem.hides_all ? "remove it, unless the job is to run on the CPU"
                                     : "keep one mask, with indices that exist");
        }
      }
    }
  }

  void judge_beside_others(Item& item) {
    if (item.row == nullptr || is_concluded(item) || !active(item)) return;
    if (!item.meaning->needs.empty() && !has_what_it_needs(item)) {
      std::string why = "without " + join(names_of(item.meaning->needs), " or ");
      if (!item.meaning->needs_note.empty()) why += ", " + item.meaning->needs_note + ",";
      conclude(item, KnobVerdict::no_effect, why + " it does nothing", "remove it");
      return;
    }
    const Item* aid = find_conflicting(item, true);
    const Item* rival = find_conflicting(item, false);
    if (is_aid(item)) {
      const Item* other = rival != nullptr ? rival : aid;
      if (other == nullptr) return;
      conclude(item, KnobVerdict::contradictory, said_of_conflict(item, *other),
               item.meaning->instead);
    } else if (aid != nullptr) {
      judge_beside_aid(item, *aid, rival);
    } else if (rival != nullptr) {
      judge_beside_rival(item, *rival);
    }
  }

  // If a debugging aid disturbs another setting, the aid is to be removed and the other one stays.
  void judge_beside_aid(Item& item, const Item& aid, const Item* rival) {
    const std::string said = said_of_conflict(item, aid);
    if (rival != nullptr && gives_way(item, *rival)) {
      conclude(item, KnobVerdict::contradictory, said + "; and " + said_of_conflict(item, *rival),
               advice_to_yield(item, *rival));
      return;
    }
    const std::string needed = context_.needed_versions(*item.row);
    conclude(item, KnobVerdict::contradictory, said,
             fmt::format("remove {}; then this one works{}", aid.judged.name,
                         needed.empty() ? "" : ", if this is " + needed));
    item.judged.remains = {item.judged.name, item.judged.value};
  }

  // Of two settings that exclude each other one stays. If it is not known whether this stack reads
  // one of them at all, that one gives way and the other is in order.
  void judge_beside_rival(Item& item, const Item& rival) {
    const std::string unsure = context_.unsure(*item.row);
    const bool yields = gives_way(item, rival);
    if (unsure.empty() && !context_.unsure(*rival.row).empty()) return;
    std::string why = said_of_conflict(item, rival);
    if (!unsure.empty()) why = unsure + ". Where this stack has it, it goes badly " + why;
    conclude(item, KnobVerdict::contradictory, std::move(why),
             unsure.empty() ? "keep one of the two" : advice_to_yield(item, rival));
    if (!yields) item.judged.remains = {item.judged.name, item.judged.value};
  }

  static std::string advice_to_yield(const Item& item, const Item& rival) {
    const std::string& name = rival.judged.name;
    const std::string& own = item.judged.name;
    return fmt::format("remove {}, or remove {} instead: never both", own.substr(own.find(':') + 1),
                       name.substr(name.find(':') + 1));
  }

  // The first setting in force that excludes this one, and is a debugging aid or is none.
  const Item* find_conflicting(const Item& item, bool aid) const {
    for (const Item& other : items_) {
      if (&other == &item || other.group != item.group || !active(other)) continue;
      if (is_aid(other) == aid && conflict(*item.meaning, *other.meaning) != nullptr) return &other;
    }
    return nullptr;
  }

  bool gives_way(const Item& item, const Item& rival) const {
    const bool unsure = !context_.unsure(*item.row).empty();
    if (unsure != !context_.unsure(*rival.row).empty()) return unsure;
    return &item > &rival;
  }

  static const std::string* conflict(const Knob& a, const Knob& b) {
    for (const auto& [one, other] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
      const auto found = one->conflicts.find(other->name);
      if (found != one->conflicts.end()) return &found->second;
    }
    return nullptr;
  }

  static bool is_aid(const Item& item) { return item.meaning->kind == KnobClass::debugging; }

  static std::string said_of_conflict(const Item& item, const Item& other) {
    const std::string& name = other.judged.name;
    std::string said = fmt::format("beside {}: {}",
                                   other.judged.is_option() ? name.substr(name.find(':') + 1)
                                                            : name + "=" + other.judged.value,
                                   *conflict(*item.meaning, *other.meaning));
    if (is_aid(item) && !item.row->cost.empty()) said += ". " + item.row->cost;
    return said;
  }

  bool has_what_it_needs(const Item& item) const {
    return std::any_of(items_.begin(), items_.end(), [&](const Item& other) {
      if (other.group != item.group || other.meaning == nullptr || !active(other)) return false;
      const auto& needs = item.meaning->needs;
      return std::find(needs.begin(), needs.end(), other.meaning->name) != needs.end();
    });
  }

  static std::vector<std::string> names_of(const std::vector<std::string>& knobs) {
    std::vector<std::string> names;
    for (const std::string& knob : knobs) names.push_back(knob.substr(knob.find(':') + 1));
    return names;
  }

  // ---- what the row says of any value that is not the default ----

  void judge_class(Item& item) {
    if (item.row == nullptr || is_concluded(item)) return;
    const Knob& row = *item.row;
    if (item.judged.why.empty()) item.judged.why = context_.unsure(*item.row);
    if (knowledge::is_harmless(*item.meaning, item.judged.value)) {
      if (knowledge::is_default(*item.meaning, item.judged.value)) {
        item.judged.why = "that is the default";
      }
      return;
    }
    const Knob& kind = row.kind == KnobClass::normal ? *item.meaning : row;
    switch (kind.kind) {
      case KnobClass::normal:
        if (item.judged.why.empty()) item.judged.why = row.cost;
        break;
      case KnobClass::debugging:
        conclude(item, KnobVerdict::debugging, row.cost, instead(item));
        break;
      case KnobClass::no_effect:
        conclude(item, KnobVerdict::no_effect, "", instead(item));
        break;
      case KnobClass::dangerous:
        conclude(item, KnobVerdict::dangerous, row.cost, instead(item));
        break;
      case KnobClass::deprecated:
        judge_deprecated(item);
        break;
    }
  }

  void judge_deprecated(Item& item) {
    const Knob& row = *item.row;
    const std::string since = context_.deprecated_here(row);
    if (since.empty() && !row.deprecated_since.empty()) return;
    std::string advice = instead(item);
    if (!row.alias.empty()) {
      advice = fmt::format("write {} instead", row.alias);
      item.judged.remains = {row.alias, item.judged.value};
    }
    conclude(item, KnobVerdict::deprecated, since, advice);
  }

  static Judgement finish(Item& item) {
    Judgement& judged = item.judged;
    if (judged.verdict == KnobVerdict::keep) {
      judged.advice = "keep";
      judged.remains = {judged.name, judged.value};
    }
    if (judged.advice == write_export) {
      judged.remains = {judged.name, judged.value};
    }
    if (!judged.ours) judged.advice = "leave it as it is";
    return judged;
  }

  const knowledge::KnobTable& knobs_;
  KnobContext context_;
  MachineSize size_;
  std::vector<Item> items_;
};

}  // namespace

bool should_change(const Judgement& one) {
  return one.ours && one.verdict != KnobVerdict::keep;
}

std::vector<Judgement> audit_knobs(const std::vector<Setting>& settings, const facts::Facts& facts,
                                   const knowledge::GpuTables& tables) {
  return Audit(facts, tables).run(settings);
}

}  // namespace headroom::findings
