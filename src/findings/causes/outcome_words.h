// SPDX-License-Identifier: Apache-2.0
// How people say in a few words what came of something: that it works, or that it does not. Parts
// of regular expressions of RE2, without case. A word of trouble that is denied is good news and
// one of success that is denied is bad, so the three are tried in this order at each place.
#pragma once

namespace headroom::findings {

constexpr const char* denied_trouble =
    R"((?:do|does|did|is|was|are|will|would|could|can|ca|wo|have|has|had)(?:n['’]?t| not|not) (?:\w+ )?(?:happen|occur|crash|hang|fail|reproduc|affect|present|freez|show|exhibit|leak|grow|trigger|die|segfault|reset|appear|fault)\w*)"
    R"(|(?:do|does|did|could|can|have|has|had)(?:n['’]?t| not|not) (?:\w+ )?(?:see|saw|seen|get|got|have|had|hit|experienc\w*|encounter\w*|observ\w*|notic\w*|suffer\w*|face[sd]?) (?:from )?(?:it|this|that|these|those|them|any|the|a|an|such)\b(?: (?:\w+ ){0,2}(?:issues?|problems?|bugs?|errors?|crash(?:es)?|faults?|hangs?|behaviou?r|resets?|regression))?)"
    R"(|(?:isn['’]?t|wasn['’]?t|not) (?:\w+ )?(?:an? )?(?:present|affected|reproducible|issue|problem)|\bunaffected\b|\b(?:free|clear) of (?:\w+ ){0,2}(?:crash|hang|fault|error|problem|issue)\w*)"
    R"(|\bno (?:longer|more) (?:\w+ )?(?:crash|hang|fail|freez|fault|leak|reset|reboot|segfault|happen|occur|reproduc|appear|show|trigger|present)\w*)"
    R"(|\b(?:no|zero) (?:\w+ ){0,2}(?:issues?|problems?|trouble|crash(?:es)?|errors?|hangs?|freezes|faults?|segfaults?|leaks?|corruption|timeouts?|resets?|reboots?)\b)"
    R"(|\b(?:never|without|zero) (?:a |an |any |one |single |further )*(?:issues?|problems?|trouble|crash\w*|errors?|hang\w*|hung|freez\w*|faults?|segfault\w*|fail\w*|hitch\w*|resets?)\b)"
    R"(|\bnever (?:did|does|had|has|saw|showed|shows|gave|gives|happen(?:s|ed)|occur(?:s|red)) ?(?:this|that|it|so)?\b)"
    R"(|\b(?:stop(?:s|ped)|avoid(?:s|ed)|prevent(?:s|ed)|cure[sd]|eliminate[sd]|work(?:s|ed)? around|g[eo]t(?:s|ting)? rid of|t(?:akes|ook) care of) (?:it\b|this\b|that\b|(?:\w+ ){0,3}(?:crash|hang|fault|error|freez|segfault|corruption|garbage|problem|issue|reset|timeout|leak|failure)\w*))"
    R"(|\b(?:ma(?:kes?|de|king)|lets?) (?:\w+ ){0,3}(?:crash|hang|fault|error|freez|segfault|corruption|garbage|problem|issue|reset|timeout|leak|failure)\w* (?:\w+ )?(?:go away|disappear|vanish|stop|cease))"
    R"(|(?:crash|hang|fault|error|freez|segfault|problem|issue|reset)\w* (?:\w+ )?(?:(?:is|are|was|were|has|have) )?(?:gone|history|a thing of the past|vanish\w*|disappear\w*|ceas\w*|stopp\w*|w[ea]nt away|goes away|solved|fixed|resolved))"
    R"(|(?:anymore )?(?:crash|hang|fail|freez)\w* (?:\w+ ){0,2}(?:anymore )?since (?:downgrad|revert|going back)\w*)";

// A step that changed nothing.
constexpr const char* futile =
    R"(\b(?:do|does|did)(?:n['’]?t| not) (?:\w+ )?(?:help|fix|solve|change|matter|make|cure|improve|resolve)\w*|\bno (?:change|effect|difference|help|luck|avail|improvement)\b|\bsame (?:\w+ )?(?:crash|error|fault|hang|problem|issue|result|thing|behaviou?r)\b|\b(?:still|also|again) (?:\w+ )?(?:crash|hang|fail|freez|fault|segfault|happen|occur|abort)\w*|\b(?:all|both|none|every one) (?:of them )?(?:crash|hang|fail|freez|fault|segfault|abort)\w*)";

// "6.2 works, 6.3 does not": the opposite of what was told before it.
constexpr const char* opposite =
    R"(\b(?:does|did|do|is|was|will|would)(?:n['’]?t| not)(?:[.,;:)]|\s*$)|\b(?:but )?not (?:on|with|in|under|for|when|if)\b)";

constexpr const char* trouble =
    R"((?:do|does|did|is|was|are|will|would|could|can)(?:n['’]?t| not|not) (?:\w+ ){0,2}(?:work|start|load|detect|run|recogni[sz]e|see|find|boot|come|help|fix|solve|use|build|compile|support|init|change)\w*)"
    R"(|\bnot (?:ok|okay|fine|good|stable|clean)\b|\b(?:can|could|able to|I|we) reproduce\w*\b|\breproduc(?:es|ible)\b|\bcan(?:['’]?t|not)\b|\bwo(?:n['’]t)\b|\bno longer\b|\bstopped working\b|\bnot work\w*|\bno (?:change|effect|difference|help|luck|avail)\b|\bcrash\w*|\bsegfault\w*|\bsegv\b|\bsegmentation fault|\bfail\w*|\bhang(?:s|ing)?\b|\bhung\b|\bfreez\w*|\bfroze\w*|\bbreak\w*|\bbroke\w*|\babort\w*|\bfault(?:s|ed)?\b|\berrors?\b|\bgarbage\b|\bblack images?\b|\bslower\b|\bunusable\b|\bregress\w*|\bdies\b|\bdied\b|\bstuck\b|\bproblematic\b|\bfaulty\b|\bbuggy\b|\bresets?\b|\breboots\b|\bleaks?\b|\bgrows?\b|\bgibberish\b|\bnonsense\b|\bnothing (?:\w+ ){0,3}(?:work|run|start|load)(?:s|ing)?\b|\bnone (?:of \w+ )?(?:work|start|load)\w*|\bbad\b|\bsame (?:\w+ )?(?:crash|error|fault|hang|problem|issue|result|thing)\b|\bhappens\b|\boccurs\b|\b(?:shows? up|showed up|appear(?:s|ed)|start(?:ed)? (?:happening|after|when|since)|beg[ai]n(?:s|ning)?|comes? back|came back) (?:\w+ )?(?:with|in|on|after|when|since|from|once)\b|\b(?:exit(?:s|ed)?|ends?|died) (?:\w+ )?(?:with|code) (?:code )?1(?:3\d|39)\b|\ball 139\b)";

constexpr const char* success =
    R"(\b(?:(?:known|last) good|good|clean|flat|green|rock[- ]solid|solid|all is well|back to normal|answers|renders|trains|serves|ran (?:all|for|fine|well)|works?|worked|working|fine|okay|ok|stable|only (?:works?|starts?|runs?|loads?) (?:if|when|with)|(?:runs|starts|boots|loads)(?:[.,;]|\s*$)|succeeds?|succeeded|complete[sd]|finish(?:es|ed)|pass(?:es|ed)?|solv(?:es|ed)|fix(?:es|ed)|resolv(?:es|ed)|gone|same \w+ runs|(?:runs?|ran|loads?|boots?|starts?|proceeds?|behaves?) (?:fine|well|correctly|normally|properly|happily|without|it|the|this|my|them|same)|(?:has been|have been|been|is|are) running|(?:can|could) (?:run|start|load|use|train)|w[ea]nt away|goes? away|disappear(?:s|ed)|vanish(?:es|ed)|helps|helped|sorted|did the trick|does the trick|cured|(?:was|is|being) the (?:fix|solution|cure|workaround)|ma(?:kes?|de) (?:it|everything|all|this|that|(?:the|my|both) \w+(?: \w+)?) (?:run|work|start|load|boot|go|stable|usable|finish|pass)s?|g[eo]t(?:s)? (?:it|things|everything) (?:going|working|running)|lets? (?:it|the \w+|me) (?:run|work|start|load|boot)|takes? care|(?:brought|brings|got|gets) (?:\w+ ){1,4}back|(?:output|results?|images?|answers?|numbers) (?:is|are|was|were) (?:now |again )?(?:right|correct|fine|ok|good|as expected)|keeps? (?:it|the \w+|everything) (?:stable|running|alive)|(?:it|everything|all|(?:the|my|same) (?:module|model|driver|server|job|card|script|service|container|machine)) (?:now |again |then )?(?:loads|runs|starts|boots|fits|goes|comes up|shows up|is there)|took care|(?:correct|right) (?:output|results?|images?|answers?|numbers)|correct|correctly|normal(?:ly)?|successfully|flawless\w*|(?:is|was|are) (?:found|detected|seen|visible|recogni[sz]ed|used) (?:again|now)|(?:now|finally) (?:\w+ )?(?:detected|seen|found|visible|used)|unaffected|stay(?:s|ed|ing)? (?:on|with|at)|stick(?:s|ing)? (?:to|with))\b)";

}  // namespace headroom::findings
