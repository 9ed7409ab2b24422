"""Programs that tests need: there, or a reason."""

from __future__ import annotations

import os
import shutil

import pytest


def tool(name: str) -> str:
    """The path of a program, else: skip at home, fail in CI."""
    # A user's PATH may lack the folders of programs for root.
    path = shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")
    if path is None:
        message = f"{name} is not installed"
        if os.environ.get("CI"):
            pytest.fail(f"{message}; .ci/run should have installed it")
        pytest.skip(message)
    return path
