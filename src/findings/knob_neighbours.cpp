// SPDX-License-Identifier: Apache-2.0
#include "findings/knob_neighbours.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace headroom::findings {
namespace {

using Item = KnobItem;
using knowledge::Knob;
using knowledge::KnobClass;

class Neighbours {
 public:
  Neighbours(const std::vector<Item>& items, const KnobContext& context)
      : items_(items), context_(context) {}

  void judge(Item& item) {
    if (item.row == nullptr || is_concluded(item) || !is_active(item)) return;
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

 private:
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
      if (&other == &item || other.group != item.group || !is_active(other)) continue;
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
      if (other.group != item.group || other.meaning == nullptr || !is_active(other)) return false;
      const auto& needs = item.meaning->needs;
      return std::find(needs.begin(), needs.end(), other.meaning->name) != needs.end();
    });
  }

  static std::vector<std::string> names_of(const std::vector<std::string>& knobs) {
    std::vector<std::string> names;
    for (const std::string& knob : knobs) names.push_back(knob.substr(knob.find(':') + 1));
    return names;
  }

  const std::vector<Item>& items_;
  const KnobContext& context_;
};

}  // namespace

void judge_neighbours(std::vector<KnobItem>& items, const KnobContext& context) {
  Neighbours neighbours(items, context);
  for (Item& item : items) neighbours.judge(item);
}

}  // namespace headroom::findings
