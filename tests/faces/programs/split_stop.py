# SPDX-License-Identifier: Apache-2.0
"""An ordinary script whose steps take until somebody ends it.

    split_stop.py [handler]     handler: it has a handler of SIGTERM of its own
"""
import os
import signal
import sys

import split_cases as cases


class Telling(cases.TrainerCallback):
    """Sends the signal, as a batch system would, in the second step."""

    def on_step_begin(self, args, state, control, **_):
        if state.global_step == 1:
            os.kill(os.getpid(), signal.SIGTERM)


if "handler" in sys.argv:
    signal.signal(signal.SIGTERM, lambda *_: print("the script's own handler", flush=True))
trainer, _ = cases.make_trainer(cases.gpt2(), cases.rows(64), steps=4)
trainer.add_callback(Telling())
trainer.train()
print("trained", trainer.state.global_step)
