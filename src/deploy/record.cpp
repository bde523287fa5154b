// SPDX-License-Identifier: Apache-2.0
#include "deploy/record.h"

namespace headroom::deploy {

bool needs_finishing(const Record& record) {
  return record.stage != Stage::looking && record.stage != Stage::over;
}

std::string change_name(const std::string& service) {
  return "deploy-" + service;
}

std::string_view to_string(Stage stage) {
  switch (stage) {
    case Stage::looking:
      return "looking";
    case Stage::stopping:
      return "stopping";
    case Stage::applying:
      return "applying";
    case Stage::starting:
      return "starting";
    case Stage::smoking:
      return "smoking";
    case Stage::watching:
      return "watching";
    case Stage::committing:
      return "committing";
    case Stage::rolling_back:
      return "rolling-back";
    case Stage::over:
      return "over";
  }
  return "over";
}

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::committed:
      return "committed";
    case Outcome::rolled_back:
      return "rolled-back";
    case Outcome::refused:
      return "refused";
    case Outcome::planned:
      return "planned";
    case Outcome::tried:
      return "tried";
  }
  return "refused";
}

}  // namespace headroom::deploy
