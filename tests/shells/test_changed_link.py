"""Hooks notice, without a process, that a linked prefix has become another release."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocmenv.ops.link import link
from rocmenv.ops.rehash import rehash
from rocmenv.store.paths import Root
from tests.builders import clean_environ, fake_prefix, process, root_with
from tests.shells.harness import Ran, RealShell

SAYS = "was 6.4.1, is 6.4.2"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return fake_prefix(tmp_path / "it's site/rocm", "6.4.1")


@pytest.fixture
def root(tmp_path: Path, site: Path) -> Root:
    root = root_with(tmp_path, "6.3.0")
    link(process(root.path), root, str(site), None)
    for name, version in (("full", "6.4.1"), ("short", "6.4"), ("other", "6.3")):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".rocm-version").write_text(f"{version}\n")
    return root


def visit(shell: RealShell, root: Root, change: str, before: str = "") -> Ran:
    """Go to a project that pins the link, change its prefix, go away and back."""
    script = f"""
{before}
{shell.setup(root)}
cd full; _rocmenv_hook
DUMP
{change}
cd ../other; _rocmenv_hook
DUMP
cd ../short; _rocmenv_hook
DUMP
cd ../full; _rocmenv_hook
DUMP
"""
    return shell.run(script, clean_environ(root), root.path.parent)


def places(ran: Ran) -> list[str | None]:
    return [dump.get("ROCM_PATH") for dump in ran.dumps]


@pytest.mark.parametrize("rehashed", ["", "rehashed"])
def test_another_release_is_refused(
    shell: RealShell, root: Root, site: Path, rehashed: str
) -> None:
    change = f"printf '6.4.2-9\\n' >\"{site}/.info/version\""
    if rehashed:
        change += "; _rocmenv_run rehash"
    ran = visit(shell, root, change)
    assert places(ran) == [str(site), f"{root.versions}/6.3.0", None, None]
    assert ran.err.count(SAYS) == 2, "once for each visit"
    assert ran.err.count("`rocmenv link --refresh 6.4.1`") == 2


def test_the_same_release_built_anew_is_taken(shell: RealShell, root: Root, site: Path) -> None:
    """The program is asked, as the rendered text does not fit; after a rehash it does."""
    ran = visit(shell, root, f"printf '6.4.1-84\\n' >\"{site}/.info/version\"")
    assert places(ran) == [str(site), f"{root.versions}/6.3.0", str(site), str(site)]
    assert ran.dumps[3] == ran.dumps[0]
    assert "was" not in ran.err
    rehash(process(root.path), root)
    assert "6.4.1-84" in (root.activations / "6.4.1.sh").read_text()


@pytest.mark.parametrize("text", ["6.4.1-1", "6.4.1"])
def test_a_line_without_an_end_is_read(shell: RealShell, root: Root, site: Path, text: str) -> None:
    (site / ".info/version").write_text(text)
    rehash(process(root.path), root)
    assert text in (root.activations / f"6.4.1.{shell_suffix(shell)}").read_text()
    ran = visit(shell, root, ":", before="" if shell.is_fish else "IFS=14; set -u; set -e")
    assert places(ran) == [str(site), f"{root.versions}/6.3.0", str(site), str(site)]


def shell_suffix(shell: RealShell) -> str:
    return "fish" if shell.is_fish else "sh"


@pytest.mark.parametrize("text", ["6.4.1 $(touch x)\n", "6.4.1\n\n6.4.2\n", "6.4.1-`id`\n"])
def test_only_a_plain_line_is_compared(shell: RealShell, root: Root, site: Path, text: str) -> None:
    """What is none stays out of the text of a shell, and the program decides as before."""
    (site / ".info/version").write_text(text)
    (site / "include").mkdir()
    numbers = (("MAJOR", 6), ("MINOR", 4), ("PATCH", 1))
    header = "".join(f"#define ROCM_VERSION_{name} {number}\n" for name, number in numbers)
    (site / "include/rocm_version.h").write_text(header)
    rehash(process(root.path), root)
    suffix = shell_suffix(shell)
    assert ".info/version" not in (root.activations / f"6.4.1.{suffix}").read_text()
    assert places(visit(shell, root, ":"))[0] == str(site)


def test_an_unreadable_file_is_no_reason_to_hang(shell: RealShell, root: Root, site: Path) -> None:
    ran = visit(shell, root, f'rm "{site}/.info/version"; mkfifo "{site}/.info/version"')
    assert places(ran)[2:] == [None, None]
    assert "none that says its release" in ran.err
