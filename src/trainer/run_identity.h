// SPDX-License-Identifier: Apache-2.0
// What a resumed run must have in common with the one before: every setting that changes what is
// computed, the data and the weights it starts from. Which settings those are is written down field
// by field, so that a new field of the settings does not compile before somebody has decided.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "trainer/data/split.h"
#include "trainer/ranks/ranks.h"
#include "trainer/settings.h"

namespace headroom::trainer {

// "rope_theta" → "500000", "data.seed" → "1", …: by the names of config.json and of the job.
using RunIdentity = std::map<std::string, std::string>;

// Of the settings and of what was read as they say. The weights of a frozen base are added by
// add_base(), once they are there.
RunIdentity identify(const Settings& settings, const data::Split& samples);
// `checksums`: list_checksums() of the base; of a split model those of this rank's part, which the
// others hear of. Fails as Ranks::gather().
Status add_base(const std::string& checksums, Ranks& ranks, RunIdentity& identity);

// Numbers that a person may want to change on the way, once it is said that this is meant: a rate
// after a loss that is no number, for instance.
const std::vector<std::string>& changeable_settings();

// "rope_theta: expected 10000 as in the checkpoint, found 500000", for each difference except in
// `allowed`.
std::vector<std::string> differences(const RunIdentity& checkpoint, const RunIdentity& job,
                                     const std::vector<std::string>& allowed);

}  // namespace headroom::trainer
