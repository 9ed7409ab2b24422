"""A distribution's files, made to fit a prefix."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from rocmenv.sources.distro_tree import finish
from tests.builders import put

if TYPE_CHECKING:
    from pathlib import Path


def test_mode_and_time_stay_and_a_twin_is_unharmed(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    path = put(tree, "lib/pkgconfig/a.pc", "prefix=/usr\n", 0o640)
    put(tree, "lib/pkgconfig/a.pc.mended", "of a package")
    os.utime(path, ns=(1_600_000_000_000_000_007, 1_600_000_000_000_000_009))
    twin = tmp_path / "twin"
    twin.hardlink_to(path)
    finish(tree, "/p", "5.2.3", ["lib/pkgconfig/a.pc"])
    assert path.read_text() == "prefix=${pcfiledir}/../..\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert path.stat().st_mtime_ns == 1_600_000_000_000_000_009
    assert twin.read_text() == "prefix=/usr\n"
    assert sorted(os.listdir(path.parent)) == ["a.pc", "a.pc.mended"]
    assert (path.parent / "a.pc.mended").read_text() == "of a package"


# Python scripts, and modules that only the prefix has.

START = "#!/usr/bin/python3\n"
USE = "import only_here\nprint(repr(__doc__), only_here.X)\n"


def script(tree: Path, text: str | bytes) -> tuple[Path, tuple[str, ...]]:
    """The script, and the notes on it."""
    put(tree, "lib/python3/dist-packages/only_here.py", "X = 3\n")
    path = put(tree, "bin/tool", text)
    return path, finish(tree, "/p", "5.2.3", ["bin/tool"])


def run(path: Path) -> str:
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("head", "doc"),
    [
        ("", None),
        ("# a comment\n\n", None),
        ('"""Usage: tool"""\n', "Usage: tool"),
        ("# -*- coding: utf-8 -*-\n# more\n\n'''Usage:\ntool\n'''\n", "Usage:\ntool\n"),
        ("'a' \\\n  'b'\n\n# c\n", "ab"),
        ('""""""\n', ""),
        ("from __future__ import annotations\n", None),
        (
            (
                '"""Usage"""\nfrom __future__ import (\n    annotations,\n)\n'
                "from __future__ import division\n"
            ),
            "Usage",
        ),
        ("\f\n'a'\n", "a"),
        ("'a'\r\n", "a"),
        ("'a';\n", "a"),
        ("b'no docstring'\n", None),
        ("'a'.strip()\n", None),
    ],
)
def test_a_script_finds_modules_and_keeps_its_docstring(
    tmp_path: Path, head: str, doc: str | None
) -> None:
    path, notes = script(tmp_path, f"{START}{head}{USE}".encode())
    assert run(path) == f"{doc!r} 3"
    assert notes == ("1 texts that named /usr were made to fit the prefix",)
    lines = path.read_bytes().decode().split("\n")
    kept = [line for line in lines if "dist-packages" not in line]
    assert "\n".join(kept) == f"{START}{head}{USE}"
    assert len(lines) == len(kept) + 1


def test_the_encoding_of_a_script_stays(tmp_path: Path) -> None:
    text = f"{START}# coding: latin-1\n'\xe4'\n{USE}".replace("repr", "ascii").encode("latin-1")
    assert run(script(tmp_path, text)[0]) == "'\\xe4' 3"


@pytest.mark.parametrize(
    "text",
    [
        "print 'of another age'\nimport only_here\n",
        "'a'; import only_here\n",
        "from __future__ import annotations; import only_here\n",
        "'a' \\\n; import only_here\n",
        "x = '\0'\n",
        "# coding: nothing-of-that-name\n'a'\nimport only_here\n",
        "(" * 5000,
    ],
)
def test_a_script_without_a_place_for_the_line_is_left_and_said(tmp_path: Path, text: str) -> None:
    path, notes = script(tmp_path, START + text)
    assert path.read_text() == START + text
    assert notes == ("`bin/tool` has no place for the folder of the prefix's modules",)


@pytest.mark.parametrize("text", ["", "# a\n", "'a'", "'a'\nfrom __future__ import division"])
def test_a_script_that_can_need_no_module_is_left(tmp_path: Path, text: str) -> None:
    path, notes = script(tmp_path, START + text)
    assert path.read_text() == START + text
    assert notes == ()


def test_warnings_about_a_script_are_its_own(tmp_path: Path) -> None:
    path, _ = script(tmp_path, f"{START}'a'\nX = '\\d' if 1 is 1 else 0\n{USE}")
    assert "dist-packages" in path.read_text()


def test_other_scripts_and_prefixes_without_modules_are_left(tmp_path: Path) -> None:
    text = "#!/bin/sh\n# from __future__\n"
    assert script(tmp_path, text)[0].read_text() == text
    path = put(tmp_path / "other", "bin/tool", f"{START}'a'\n{USE}")
    finish(tmp_path / "other", "/p", "5.2.3", ["bin/tool"])
    assert path.read_text() == f"{START}'a'\n{USE}"


def test_a_perl_script_may_speak_of_python(tmp_path: Path) -> None:
    put(tmp_path, "share/perl5/Only.pm", "1;\n")
    text = "#!/usr/bin/perl\n# from __future__ import x\nuse strict;\n"
    assert "use FindBin" in script(tmp_path, text)[0].read_text().splitlines()[2]
