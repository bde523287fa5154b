// SPDX-License-Identifier: Apache-2.0
#include "report/step_text.h"

#include <gmock/gmock.h>

#include "report/change_text.h"
#include "report/fix_list.h"

namespace headroom::report {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string comment =
    "# A comment of a requirements file that is longer than the page is wide, so that folding it "
    "would make a line that pip takes for the name of a package.";

std::string shown(bool verbatim) {
  plan::Step step;
  step.kind = plan::StepKind::by_hand;
  step.what = "Save as stack/requirements.txt";
  step.action = plan::Instruction{comment + "\ntorch==2.4.1", verbatim};
  return fit(step_text(step, 1, Style{false, 60}), 60);
}

TEST(StepText, what_is_to_be_saved_or_pasted_is_never_folded) {
  EXPECT_THAT(shown(true), HasSubstr(comment + "\n"));
  EXPECT_THAT(shown(false), Not(HasSubstr(comment)));
}

findings::Diagnosis full_card() {
  findings::Diagnosis diagnosis;
  diagnosis.cause = findings::Cause{"vram-held-by-other", "the card is full", 0.95, {}, {}, {}, {}};
  diagnosis.cause->fix = {findings::command("kill 4127")};
  findings::Finding finding;
  finding.id = "vram-held-by-other";
  finding.next = findings::NextCommand::reclaim();
  diagnosis.findings = {finding};
  return diagnosis;
}

TEST(FixList, a_cause_that_no_fix_mends_leads_to_what_does_and_not_back_to_check) {
  const Style style{false, 100};
  EXPECT_THAT(fixes_to_text({}, full_card(), facts::Facts{}, style),
              AllOf(HasSubstr("vram-held-by-other"), HasSubstr("Next: headroom reclaim"),
                    Not(HasSubstr("headroom check"))));
  findings::Diagnosis by_hand = full_card();
  by_hand.findings.clear();
  EXPECT_THAT(fixes_to_text({}, by_hand, facts::Facts{}, style),
              AllOf(HasSubstr("kill 4127"), Not(HasSubstr("headroom check"))));
  findings::Diagnosis fine;
  fine.verdict = findings::Verdict::no_gpu;
  EXPECT_THAT(fixes_to_text({}, fine, facts::Facts{}, style),
              AllOf(HasSubstr("headroom plan"), Not(HasSubstr("--gpu auto"))));
}

TEST(NoteText, commands_stand_below_it_a_line_each) {
  EXPECT_EQ(fit(note_text("Then:\ncd /srv/st\npython3.12 -m venv venv", Style{false, 100}), 100),
            "  - Then:\n    cd /srv/st\n    python3.12 -m venv venv\n");
}

TEST(FixList, what_check_found_is_never_called_not_needed) {
  const plan::Fix fix{.id = "limit-above-ram", .meaning = "", .takes = ""};
  const plan::Outlook outlook{plan::Standing::not_possible, true,
                              Error{Errc::unsupported, "limit-above-ram: the carve-out decides",
                                    "headroom check --verbose"}};
  const std::string text = fixes_to_text({{&fix, outlook}}, {}, facts::Facts{}, Style{false, 100});
  EXPECT_THAT(text, AllOf(HasSubstr("limit-above-ram: the carve-out decides"),
                          Not(HasSubstr("Not needed"))));
}

}  // namespace
}  // namespace headroom::report
