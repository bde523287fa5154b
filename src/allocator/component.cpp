// SPDX-License-Identifier: Apache-2.0
#include "allocator/component.h"

namespace headroom::allocator {

std::string_view to_string(Component component) {
  switch (component) {
    case Component::weights:
      return "weights";
    case Component::adapters:
      return "adapters";
    case Component::gradients:
      return "gradients";
    case Component::optimizer:
      return "optimizer";
    case Component::activations:
      return "activations";
    case Component::logits:
      return "logits";
    case Component::kv_cache:
      return "kv_cache";
    case Component::workspace:
      return "workspace";
    case Component::other:
      return "other";
  }
  return "other";
}

std::optional<Component> parse_component(std::string_view name) {
  for (const Component component : all_components) {
    if (to_string(component) == name) return component;
  }
  return std::nullopt;
}

}  // namespace headroom::allocator
