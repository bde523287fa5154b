# SPDX-License-Identifier: Apache-2.0
"""SIGTERM makes a Trainer write a checkpoint before the process ends by that signal, as it would have.

The checkpoint comes after the optimizer's next step, into the Trainer's own output folder; a second SIGTERM ends the process at
once. A handler that the program has put there itself stays. With several processes nothing is done: they would have to stop at
the same step, and a collective operation that one of them misses hangs.
"""
import functools
import os
import signal
import sys
import threading

from headroom_inject.messages import say


class _Request:
    """Whether SIGTERM has come, while a Trainer trains."""

    def __init__(self):
        self.has_come = False

    def note(self, number, _frame):
        if self.has_come:
            self.end()
        self.has_come = True
        say("SIGTERM: the Trainer writes a checkpoint after this step, and ends; a second SIGTERM ends it at once")

    @staticmethod
    def end():
        """Does not return."""
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (AttributeError, OSError, ValueError):
                pass
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)


def _make_callback(base, request):
    class SaveOnSigterm(base):
        def on_step_end(self, args, state, control, **_):
            if request.has_come:
                control.should_save = control.should_training_stop = True
            return control

        def on_save(self, args, state, control, **_):
            if request.has_come:
                say(f"the checkpoint is in {os.path.join(args.output_dir, f'checkpoint-{state.global_step}')}")
                request.end()
            return control

    return SaveOnSigterm()


def _may_listen(trainer):
    return (threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
            and trainer.args.world_size == 1 and not getattr(trainer.args, "enable_jit_checkpoint", False))


def install(module):
    """`module`: transformers.trainer."""
    original = module.Trainer.train

    @functools.wraps(original)
    def train(self, *args, **kwargs):
        if not _may_listen(self):
            return original(self, *args, **kwargs)
        request = _Request()
        callback = _make_callback(module.TrainerCallback, request)
        self.add_callback(callback)
        signal.signal(signal.SIGTERM, request.note)
        try:
            result = original(self, *args, **kwargs)
        finally:
            if signal.getsignal(signal.SIGTERM) == request.note:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
            self.remove_callback(callback)
        if request.has_come:  # It came after the last step.
            request.end()
        return result

    module.Trainer.train = train
