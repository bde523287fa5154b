# SPDX-License-Identifier: Apache-2.0
"""Calls a function once a module has been imported, whoever imports it (importlib: sys.meta_path, Loader.exec_module)."""
import importlib.abc
import sys

from headroom_inject.messages import say


class _Watcher(importlib.abc.MetaPathFinder):
    def __init__(self, name, action):
        self.name, self.action = name, action

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        spec = self._find_elsewhere(name, path, target)
        if spec is not None and spec.loader is not None and hasattr(spec.loader, "exec_module"):
            self._follow(spec.loader)
        return spec

    def _find_elsewhere(self, name, path, target):
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if finder is not self and find else None
            if spec is not None:
                return spec
        return None

    def _follow(self, loader):
        execute = loader.exec_module

        def execute_and_act(module):
            execute(module)
            if self in sys.meta_path:  # A module that is imported again is left alone.
                sys.meta_path.remove(self)
                try:
                    self.action(module)
                except Exception as error:
                    say(f"{self.name} runs as it is, without headroom: {error}")

        loader.exec_module = execute_and_act


def call_after_import(name, action):
    """Calls action(module) when `name` has been imported for the first time; at once if it is there already. An
    exception of the action is said in one line and goes no further."""
    if name in sys.modules:
        try:
            action(sys.modules[name])
        except Exception as error:
            say(f"{name} runs as it is, without headroom: {error}")
    else:
        sys.meta_path.insert(0, _Watcher(name, action))
