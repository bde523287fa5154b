// SPDX-License-Identifier: Apache-2.0
// Redaction of every kind of file: the names are gone, whatever stands beside them, and what is
// written over them is no name to the next pass.
#include "fuzz.h"
#include "redact/redactor.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  using namespace headroom::fuzz;
  const std::string bytes(to_text(data, size));
  const redact::Identity identity{{"tortoise.example.org"}, {"wilhelmina"}, {}};
  for (const char* path :
       {"proc/cmdline", "proc/7/cmdline", "proc/7/environ", "etc/modprobe.d/a.conf",
        "etc/profile.d/a.sh", "etc/systemd/system/a.service", "etc/passwd", "etc/hosts",
        "etc/any.conf", "sys/a/unique_id", "sys/a/serial_number", "sys/a/properties"}) {
    redact::Redactor redactor(identity);
    const std::string once = redactor.file(path, bytes);
    require(once.find("/wilhelmina/") == std::string::npos);
    require(redact::Redactor(identity).file(path, once).find("/wilhelmina/") == std::string::npos);
  }
  const std::string once = redact::Redactor(identity).text(bytes);
  require(redact::Redactor(identity).text(once) == once);
  return 0;
}
