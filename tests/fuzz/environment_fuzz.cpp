// SPDX-License-Identifier: Apache-2.0
// Snippets of settings: whatever the text, each setting has a name, a line, and only its own text.
#include "facts/environment.h"
#include "fuzz.h"

namespace headroom::fuzz {
namespace {

void require_sound(const std::vector<facts::Setting>& settings, std::size_t size, int least_line) {
  require(settings.size() <= 2 * size + 2);
  for (const facts::Setting& setting : settings) {
    require(!setting.name.empty());
    require(setting.source.line >= least_line);
    require(setting.source.text == setting.name + "=" + setting.value);
  }
}

}  // namespace
}  // namespace headroom::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  using namespace headroom::fuzz;
  const facts::Text text(std::string(to_text(data, size)), facts::Source{"/fuzzed", 0, ""});
  const bool is_environ = text->find('\0') != std::string::npos;
  require_sound(facts::parse_snippet(text, facts::Scope::given, {"iommu"}), size,
                is_environ ? 0 : 1);
  require_sound(facts::parse_unit(text, facts::Scope::unit), size, 1);
  require_sound(facts::parse_environ(text, facts::Scope::process, 7), size, 0);
  return 0;
}
