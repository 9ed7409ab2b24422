"""What this machine can run."""

from __future__ import annotations

import os
import platform

import pytest

from rocmenv.errors import HostError
from rocmenv.probe.host import debian_architecture, glibc


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("glibc 2.36", (2, 36)),
        ("glibc 2.31.9", (2, 31, 9)),
        ("musl 1.2", None),
        ("", None),
        (None, None),
    ],
)
def test_the_hosts_libc(
    monkeypatch: pytest.MonkeyPatch, text: str | None, version: tuple[int, ...] | None
) -> None:
    monkeypatch.setattr(os, "confstr", lambda _: text)
    assert glibc() == version


def test_a_host_that_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: str) -> str:
        msg = "unrecognized configuration name"
        raise ValueError(msg)

    monkeypatch.setattr(os, "confstr", broken)
    assert glibc() is None


@pytest.mark.parametrize(("machine", "name"), [("x86_64", "amd64"), ("AMD64", "amd64")])
def test_the_architecture_by_debians_name(
    monkeypatch: pytest.MonkeyPatch, machine: str, name: str
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    assert debian_architecture() == name


def test_another_architecture_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(HostError, match="this machine is riscv64"):
        debian_architecture()
