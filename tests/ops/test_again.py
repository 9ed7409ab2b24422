"""The hint to install again: the command makes what the receipt tells, whatever is set by then."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rocmenv.model.receipt import Receipt
from rocmenv.model.version import Version
from rocmenv.ops.again import again
from rocmenv.store import registry
from rocmenv.store.paths import Root
from tests.builders import clean_environ, fake_prefix, put
from tests.cli.runner import COMMAND, Result, Runner, run_command
from tests.sources import test_legacy, test_pruned, test_tarball
from tests.sources.test_legacy import _machine  # noqa: F401 - a fixture
from tests.sources.test_tarball import Vendor, name

# Fixtures of theirs. Imported, each parameter of that name would seem to hide one.
made, mirror, vendor = test_legacy.made, test_legacy.mirror, test_tarball.vendor
call = test_pruned.call


def settle_otherwise(rocmenv: Callable[..., Result], *, prune: bool = False) -> None:
    """Settings that would make another install of a command that leaves something open."""
    settings = {"profile": "runtime", "channel": "distro", "targets": "gfx942"}
    for key, value in {**settings, "prune_targets": str(prune).lower()}.items():
        rocmenv("config", "set", key, value).fine()


def command_in(hint: str) -> list[str]:
    """The words of the command that a hint has, as a shell has them."""
    before, command, after = hint.split("`")
    assert (before, after) == ("install it again: ", "")
    return shlex.split(command)


def without_time(root: Root, version: str) -> Receipt:
    return replace(registry.find(root, Version.parse(version)).receipt, time="")


WORDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "as the settings have it": ("6.3.0", ()),
    "a profile": ("6.3.0", ("--profile", "sdk")),
    "packages and a suite": (
        "6.3.0",
        ("--with", "rccl", "--with", "plain-tool", "--suite", "jammy"),
    ),
    "a name": ("6.3.0+site.a", ("--as", "6.3.0+site.a", "--with", "rocblas")),
    "GPUs": ("6.3.0", ("--with", "rocblas", "--gpu", "gfx1100", "--gpu", "gfx90a")),
    "GPUs, and no files of others": (
        "6.3.0",
        ("--with", "rocblas", "--gpu", "gfx1100", "--prune-targets"),
    ),
}


@pytest.mark.parametrize("case", WORDS)
@pytest.mark.parametrize("prune", [False, True])
def test_packages_are_those_of_the_receipt(
    call: Callable[..., Result],
    tmp_path: Path,
    case: str,
    *,
    prune: bool,
) -> None:
    version, words = WORDS[case]
    root = Root(tmp_path / "root")
    call("install", "6.3.0", *words).fine()
    before, files = without_time(root, version), root.manifest(Version.parse(version)).read_bytes()
    root.manifest(Version.parse(version)).unlink()
    command = command_in(call("verify", version).hint)
    assert command[:3] == ["rocmenv", "install", "--reinstall"]
    settle_otherwise(call, prune=prune)
    call(*command[1:]).fine()
    assert without_time(root, version) == before
    assert root.manifest(Version.parse(version)).read_bytes() == files


@pytest.mark.parametrize("words", [(), ("--gpu", "gfx942"), ("--gpu", "gfx1200,gfx1201")])
def test_an_archive_is_that_of_the_receipt(
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    vendor: Vendor,
    words: tuple[str, ...],
) -> None:
    groups = ("multiarch", "gfx120X-all", "gfx94X-dcgpu")
    vendor.has("tarball-multi-arch", *(name(group, "7.14.0") for group in groups))
    rocmenv = Runner(capfd, Root(tmp_path / "root"), tmp_path)
    server = {"ROCMENV_THEROCK_MIRROR": vendor.url}
    rocmenv("install", "7.14.0", *words, **server).fine()
    before = without_time(rocmenv.root, "7.14.0")
    rocmenv.root.manifest(Version.parse("7.14.0")).unlink()
    command = command_in(rocmenv("verify", "7.14.0").hint)
    settle_otherwise(rocmenv)
    rocmenv(*command[1:], **server).fine()
    assert without_time(rocmenv.root, "7.14.0") == before


def test_a_shell_takes_the_command_as_it_is(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """With a program called `rocmenv` on PATH, and a folder with all that has to be quoted."""
    source = fake_prefix(tmp_path / 'it\'s $HOME; né "x" *', "6.3.0")
    root = Root(tmp_path / "root")
    rocmenv = Runner(capfd, root, tmp_path)
    rocmenv("install", "--as", "6.3.0+own", "--from", str(source)).fine()
    before = without_time(root, "6.3.0+own")
    root.manifest(Version.parse("6.3.0+own")).write_text("damaged")
    hint = rocmenv("verify", "6.3.0+own").hint
    put(tmp_path, "path/rocmenv", f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@"\n', 0o755)
    environ = clean_environ(root, PATH=f"{tmp_path}/path:/usr/bin:/bin")
    settle_otherwise(rocmenv)
    command = hint.removeprefix("install it again: `").removesuffix("`")
    run_command(["sh", "-c", command], environ, "/").fine()
    assert without_time(root, "6.3.0+own") == before
    rocmenv("verify", "--deep", "6.3.0+own").fine()


@pytest.mark.parametrize(
    ("receipt", "end"),
    [
        ({"source": "distro", "suite": "sid", "targets": ()}, "--channel distro --suite sid"),
        ({"source": "wheels", "targets": ()}, "--channel wheels --gpu all"),
        ({"origin": "/x/a.run", "targets": ("gfx1100",)}, "--gpu gfx1100 --no-prune-targets"),
        ({"origin": "/x/a.run"}, "--from /x/a.run --gpu all"),
        ({"origin": "/x", "profile": "sdk"}, "--from /x --profile sdk --gpu all"),
        ({"origin": "/x"}, "--from /x"),
    ],
)
def test_gpus_are_named_where_an_install_would_look_for_them(
    root: Root, receipt: dict[str, object], end: str
) -> None:
    item = registry.find(root, Version.parse("6.3.0"))
    other = replace(item, receipt=replace(item.receipt, **receipt))  # type: ignore[arg-type]
    assert again(other).removeprefix("rocmenv install --reinstall 6.3.0 ").endswith(end)
    assert again(other, "--with", "PACKAGE").endswith(f"{end} --with PACKAGE")
