// SPDX-License-Identifier: Apache-2.0
// The parsers of single kernel and system files, all on the same text.
#include "facts/kernel_text.h"
#include "fuzz.h"

namespace headroom::fuzz {
namespace {

template <class T>
void require_source(const facts::Fact<T>& fact) {
  require(!fact.source().path.empty() && fact.source().line >= 0);
}

void require_lines(const std::vector<facts::ModuleOption>& options) {
  for (const auto& option : options) require(option.source.line >= 1);
}

}  // namespace
}  // namespace headroom::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  using namespace headroom::fuzz;
  const facts::Text text(std::string(to_text(data, size)), facts::Source{"/fuzzed", 0, ""});
  const facts::Meminfo memory = facts::parse_meminfo(text);
  require_source(memory.total);
  require_source(memory.available);
  require_source(memory.gpu_active);
  require_source(facts::parse_os_release(text, "PRETTY_NAME"));
  require_source(facts::parse_module_users(text, "amdgpu"));
  require_source(facts::parse_pages_limit(text));
  require_source(facts::parse_environment(text, "HSA_OVERRIDE_GFX_VERSION"));
  require_source(facts::parse_word(text));
  require_source(facts::parse_number(text));
  require_lines(facts::parse_cmdline(text));
  require_lines(facts::parse_modprobe(text));
  const auto version = facts::parse_kernel_version(*text);
  if (version) require((*version)[0] <= 100000);
  return 0;
}
