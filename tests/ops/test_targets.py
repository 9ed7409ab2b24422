"""For which GPUs an install is: option, variable, setting, what is found, else all."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocmenv.errors import InvalidTargetError, RocmenvError, UsageError
from rocmenv.model.target import Target
from rocmenv.model.version import Version
from rocmenv.ops.targets import Targets, known_words, wanted
from rocmenv.probe.gpu import Machine
from rocmenv.probe.kfd import Gpu
from rocmenv.settings import Settings
from rocmenv.store.paths import Root
from tests.builders import process


def ask(
    tmp_path: Path,
    *options: str,
    config: str = "",
    gpus: tuple[str | None, ...] = ("gfx1100", "gfx1036", "gfx1100"),
    **environ: str,
) -> Targets:
    root = Root(tmp_path)
    root.config.write_text(config)
    call = process(tmp_path, environ)
    found = [Gpu(n, Target.parse(name) if name else None) for n, name in enumerate(gpus)]
    machine = Machine(tuple(found), "kfd", remarks=("a remark",))
    return wanted(call, Settings(call, root), options, look=lambda: machine)


def names(found: tuple[Target, ...] | None) -> str | None:
    return None if found is None else " ".join(map(str, found))


def never() -> Machine:
    pytest.fail("the GPUs were looked for")


CONFIG = 'targets = ["gfx906"]\n'


@pytest.mark.parametrize(
    ("options", "config", "variable", "targets", "origin"),
    [
        (("gfx942",), CONFIG, "gfx908", "gfx942", "set by `--gpu`"),
        ((), CONFIG, "gfx908", "gfx908", "set by ROCMENV_TARGETS"),
        ((), CONFIG, "", "gfx906", "set by {root}/config.toml"),
        ((), "", "", "gfx1036 gfx1100", "this machine's GPUs"),
        (("all",), CONFIG, "", None, "set by `--gpu`"),
        (("NONE",), CONFIG, "", "", "set by `--gpu`"),
        ((), "", "all", None, "set by ROCMENV_TARGETS"),
        ((), 'targets = ["none"]\n', "", "", "set by {root}/config.toml"),
        (
            ("gfx110X-dgpu,gfx90a:xnack-", "GFX1100"),
            "",
            "",
            "gfx90a:xnack- gfx1100 gfx1101 gfx1102",
            "set by `--gpu`",
        ),
        ((), "", "gfx90a:sramecc+:xnack-:gfx1030 gfx942", None, ""),
    ],
)
def test_who_decides(
    tmp_path: Path,
    options: tuple[str, ...],
    config: str,
    variable: str,
    targets: str | None,
    origin: str,
) -> None:
    if not origin:
        targets = "gfx90a:sramecc+:xnack- gfx942 gfx1030"
        origin = "set by ROCMENV_TARGETS"
    found = ask(tmp_path, *options, config=config, ROCMENV_TARGETS=variable)
    assert names(found.targets) == targets
    assert found.origin == origin.format(root=tmp_path)


def test_who_says_it_needs_no_look(tmp_path: Path) -> None:
    call = process(tmp_path, {"ROCMENV_TARGETS": "gfx942"})
    assert wanted(call, Settings(call, Root(tmp_path)), look=never).origin
    assert wanted(call, Settings(call, Root(tmp_path)), ["all"], look=never).targets is None


@pytest.mark.parametrize(
    ("gpus", "origin"),
    [
        ((), "no GPU was found"),
        (("gfx1100", None), "this machine has a GPU of an unknown target"),
    ],
)
def test_where_nobody_knows_nothing_is_left_out(
    tmp_path: Path, gpus: tuple[str | None, ...], origin: str
) -> None:
    found = ask(tmp_path, gpus=gpus)
    assert found == Targets(None, origin, notes=("a remark",))
    assert found.kept(Version.parse("6.3.0")) is None


def test_a_target_that_is_not_known_is_taken_with_a_note(tmp_path: Path) -> None:
    found = ask(tmp_path, "gfx1170,gfx940")
    assert names(found.targets) == "gfx940 gfx1170"
    assert found.notes == (
        "gfx1170 is not in the tables of this rocmenv; `rocmenv gpu` shows this machine's",
    )


@pytest.mark.parametrize(
    ("options", "variable", "kind", "message", "hint"),
    [
        (
            ("gfx9010",),
            "",
            InvalidTargetError,
            "`gfx9010` is not a GPU target (set by `--gpu`)",
            "did you mean `gfx90a`?",
        ),
        (
            (),
            "gfx1100,7900",
            InvalidTargetError,
            "`7900` is not a GPU target (set by ROCMENV_TARGETS)",
            "that is `gfx1100`",
        ),
        (
            ("all", "gfx1100"),
            "",
            UsageError,
            "`all,gfx1100` is no list of GPU targets (set by `--gpu`)",
            "name targets, or `all`, or `none`: `--gpu gfx1100`",
        ),
        (
            (",",),
            "",
            UsageError,
            "`` is no list of GPU targets (set by `--gpu`)",
            "name targets, or `all`, or `none`: `--gpu gfx1100`",
        ),
    ],
)
def test_unfit_words_are_refused_with_who_said_them(
    tmp_path: Path,
    options: tuple[str, ...],
    variable: str,
    kind: type[RocmenvError],
    message: str,
    hint: str,
) -> None:
    with pytest.raises(kind) as caught:
        ask(tmp_path, *options, ROCMENV_TARGETS=variable)
    assert (caught.value.message, caught.value.hint) == (message, hint)


@pytest.mark.parametrize(
    ("target", "release", "override", "kept"),
    [
        ("gfx1031", "6.3.0", "", "gfx1030 gfx1031"),
        ("gfx1031", "10.0.0", "", "gfx1031"),
        ("gfx1100", "6.3.0", "", "gfx1100"),
        ("gfx1100", "6.3.0", "10.3.0", "gfx1030 gfx1100"),
        ("gfx1100", "6.3.0", "9.0.10", "gfx90a gfx1100"),
        ("gfx1100", "6.3.0", "10.3", "gfx1100"),
        ("gfx1100", "6.3.0", "63.255.255", "gfx1100"),
        ("none", "6.3.0", "10.3.0", ""),
        ("all", "6.3.0", "10.3.0", None),
    ],
)
def test_borrowed_code_is_kept(
    tmp_path: Path, target: str, release: str, override: str, kept: str | None
) -> None:
    found = ask(tmp_path, target, HSA_OVERRIDE_GFX_VERSION=override)
    assert names(found.kept(Version.parse(release))) == kept


@pytest.mark.parametrize("word", known_words())
def test_every_word_that_is_offered_is_taken(tmp_path: Path, word: str) -> None:
    assert ask(tmp_path, word).origin
