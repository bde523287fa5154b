// SPDX-License-Identifier: Apache-2.0
#include "findings/knob_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "findings/knob_context.h"
#include "findings/knob_items.h"
#include "findings/knob_masks.h"
#include "findings/knob_neighbours.h"
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
    judge_neighbours(items_, context_);
    for (Item& item : items_) judge_class(item);
    std::vector<Judgement> judged;
    for (Item& item : items_) judged.push_back(finish(item));
    return judged;
  }

 private:
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
