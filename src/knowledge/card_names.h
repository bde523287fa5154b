// SPDX-License-Identifier: Apache-2.0
// Finds cards in text by what people and programs call them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::knowledge {

struct Target;

struct NamedCard {
  std::string gfx;
  std::string name;  // As the text has it: "RX 7900 XT".
};

// The names of all targets. They are compiled at the first search, once, as most commands never
// search. May be used by several threads at once; copies share what was compiled.
class CardNames {
 public:
  CardNames();
  // Takes the names of these targets.
  explicit CardNames(const std::map<std::string, Target>& targets);

  // Returns the first name of each target that the text has, in the targets' order. One name may
  // belong to several targets.
  std::vector<NamedCard> find(std::string_view text) const;

 private:
  struct Compiled;
  std::shared_ptr<Compiled> compiled_;
};

}  // namespace headroom::knowledge
