// SPDX-License-Identifier: Apache-2.0
#include "report/component_json.h"

#include <string>

#include "base/document.h"

namespace headroom::report {

Json to_json(const allocator::ByComponent& components) {
  Json json = Json::object();
  for (const auto component : allocator::all_components) {
    json[std::string(to_string(component))] = components[component];
  }
  return json;
}

}  // namespace headroom::report
