// SPDX-License-Identifier: Apache-2.0
// How people say in a few words what came of something: that it works, or that it does not. Parts
// of regular expressions of RE2, without case. A word of trouble that is denied is good news and
// one of success that is denied is bad, so the three are tried in this order at each place.
#pragma once

namespace headroom::findings {

constexpr const char* denied_trouble =
    R"((?:do|does|did|is|was|are|will|would|could|can)(?:n['’]?t| not|not) (?:\w+ )?(?:happen|occur|crash|hang|fail|reproduc|affect|present|freez|show|exhibit|leak|grow|trigger|die)\w*)"
    R"(|(?:isn['’]?t|wasn['’]?t|not) (?:\w+ )?(?:an? )?(?:present|affected|reproducible|issue|problem)|\bunaffected\b)"
    R"(|\bno (?:longer|more) (?:\w+ )?(?:crash|hang|fail|freez|fault|leak)\w*)"
    R"(|\bno (?:\w+ ){0,2}(?:issues?|problems?|crash(?:es)?|errors?|hangs?|freezes|faults?|leaks?|corruption|timeouts?)\b)"
    R"(|\b(?:never|without|zero) (?:a |an |any |one |single )*(?:issues?|problems?|crash\w*|errors?|hang\w*|hung|freez\w*|faults?|fail\w*|hitch\w*)\b)"
    R"(|\b(?:stop(?:s|ped)|avoid(?:s|ed)|prevent(?:s|ed)|cure[sd]|eliminate[sd]|work(?:s|ed)? around|g[eo]t(?:s)? rid of) (?:\w+ ){0,3}(?:crash|hang|fault|error|freez|segfault|corruption|garbage|problem|issue|reset|timeout|leak)\w*)"
    R"(|(?:anymore )?(?:crash|hang|fail|freez)\w* (?:\w+ ){0,2}(?:anymore )?since (?:downgrad|revert|going back)\w*)";

constexpr const char* trouble =
    R"((?:do|does|did|is|was|are|will|would|could|can)(?:n['’]?t| not|not) (?:\w+ ){0,2}(?:work|start|load|detect|run|recogni[sz]e|see|find|boot|help|fix|solve|use|build|compile|support|init|change)\w*)"
    R"(|\bcan(?:['’]?t|not)\b|\bwo(?:n['’]?t)\b|\bno longer\b|\bstopped working\b|\bnot work\w*|\bno (?:change|effect|difference|help|luck|avail)\b|\bcrash\w*|\bsegfault\w*|\bsegmentation fault|\bfail\w*|\bhang(?:s|ing)?\b|\bhung\b|\bfreez\w*|\bfroze\w*|\bbreak\w*|\bbroke\w*|\babort\w*|\bfaults?\b|\berrors?\b|\bgarbage\b|\bblack images?\b|\bslower\b|\bunusable\b|\bregress\w*|\bdies\b|\bstuck\b|\bproblematic\b|\bfaulty\b|\bleaks?\b|\bgrows?\b|\bgibberish\b|\bnonsense\b|\bnothing (?:\w+ )?work(?:s|ing)\b|\bnone (?:of \w+ )?(?:work|start|load)\w*|\bbad\b|\bsame (?:\w+ )?(?:crash|error|fault|hang|problem|issue|result|thing)\b|\bhappens\b|\boccurs\b)";

constexpr const char* success =
    R"(\b(?:(?:known|last) good|good|clean|flat|rock[- ]solid|solid|all is well|back to normal|answers|renders|trains|serves|ran (?:all|for|fine|well)|works?|worked|working|fine|okay|ok|stable|succeeds?|succeeded|pass(?:es|ed)?|solv(?:es|ed)|fix(?:es|ed)|resolv(?:es|ed)|gone|same \w+ runs|(?:runs?|loads?|boots?|starts?) (?:fine|well|correctly|without|it|the same)|w[ea]nt away|goes? away|disappear(?:s|ed)|helps|helped|sorted|did the trick|does the trick|cured|correct|correctly|successfully|flawless\w*|(?:is|was|are) (?:found|detected|seen|visible|recogni[sz]ed|used) (?:again|now)|(?:now|finally) (?:\w+ )?(?:detected|seen|found|visible|used))\b)";

}  // namespace headroom::findings
