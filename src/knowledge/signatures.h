// SPDX-License-Identifier: Apache-2.0
// What lines of logs mean: data/signatures.toml. A signature says what a line tells, never why it
// happened: most signatures are shared by several causes, and findings/causes/ tells them apart.
// data/messages.toml has the messages about which no rule knows more than the message itself, each
// with the causes that it can have.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "knowledge/origin.h"

namespace headroom::knowledge {

enum class Role {
  failure,      // Something failed here.
  consequence,  // Something failed because something before it had failed.
  hint,         // Nothing failed; it says what may be wrong.
  noise,        // Frightening, and harmless.
  fact,         // Tells of the machine, the software or the job.
  progress,     // The job did its work up to here.
  command,      // Somebody typed something.
};

// How likely a cause is where a message is all there is. Declared from the most likely down.
enum class Likelihood {
  certain,      // The message says so itself, and nothing else prints it.
  likely,       // The usual cause of the message.
  possible,     // The likeliest of several, and no more likely than the others together.
  conceivable,  // Another one, to be named beside the likeliest.
};

struct MessageCause {
  std::string id;  // As in docs/causes.md.
  Likelihood likelihood = Likelihood::possible;
};

struct Signature {
  std::string id;     // "torch-oom".
  std::string match;  // RE2 syntax, searched in the line behind its prefix; (?P<name>…) are values.
  Role role = Role::failure;
  std::string says;  // For people: "PyTorch could not get {size}"; {name} is a value.
  int output = 0;    // So many lines after it belong to it: what a command printed.
  // The causes that the line can have by itself, the likeliest first. Only of data/messages.toml.
  std::vector<MessageCause> causes;
  Origin origin;
};

struct SignatureTable {
  std::vector<Signature> rows;
};

// The embedded tables, data/signatures.toml and behind it data/messages.toml. Fails only if one of
// them is wrong, which a test excludes.
Result<SignatureTable> load_signatures();
// Fails with the table's line: a key, a role or an id that is wrong or there twice. Whether `match`
// is an expression is seen where it is compiled.
Result<SignatureTable> parse_signatures(std::string_view text);
// Rows of data/messages.toml, which have `causes` besides, and a role only if it is no failure.
// Fails as parse_signatures does; whether each cause has a rule is for a test.
Result<SignatureTable> parse_messages(std::string_view text);

std::string_view to_string(Role role);

}  // namespace headroom::knowledge
