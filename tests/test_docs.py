"""The documentation says what the program does."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import rocmenv
from docs import generate
from rocmenv.cli.program import program
from tests.tools import tool

PROJECT = Path(__file__).parent.parent
PAGES = sorted([*PROJECT.glob("*.md"), *(PROJECT / "docs").glob("*.md")])
FRAGMENTS = sorted((PROJECT / "changelog.d").glob("*.md"))
_FENCE = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_CALL = re.compile(r"(?:^|\$ |\$\(|; |&& |bin/)rocmenv +([^\n]*)", re.MULTILINE)
_LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
_END_OF_CALL = set("();<>|&")


def named(path: Path) -> str:
    return str(path.relative_to(PROJECT))


def code(text: str) -> Iterator[str]:
    """Every piece of code in a page: blocks, then what is in backticks."""
    yield from _FENCE.findall(text)
    for _, piece in _INLINE.findall(_FENCE.sub("", text)):
        yield piece.strip().replace("\\|", "|")


def calls(text: str) -> Iterator[list[str]]:
    """The arguments of every call of rocmenv in a page."""
    for piece in code(text):
        for found in _CALL.findall(piece):
            words: list[str] = []
            lexer = shlex.shlex(found, posix=True, punctuation_chars=True)
            lexer.whitespace_split = True
            for word in lexer:
                if set(word) <= _END_OF_CALL:
                    break
                words.append(word)
            yield words


def problem(words: list[str]) -> str | None:
    """What is wrong with a call: a command or option that does not exist, else None."""
    is_plus = bool(words) and words[0].startswith("+")
    waiting = words[1:] if is_plus else list(words)
    command: click.Command = program
    context = click.Context(program)
    while waiting:
        word = waiting.pop(0)
        if word.startswith("-") and len(word) > 1 and word != "--":
            option = _option(command, word)
            if option is None:
                return f"`{command.name}` has no option {word}"
            if not option.is_flag and "=" not in word and waiting:
                waiting.pop(0)
        elif isinstance(command, click.Group):
            found = command.get_command(context, word)
            if found is None and is_plus:
                return None  # a program to run with that version
            if found is None:
                # COMMAND and VERSION stand for something in a synopsis.
                return None if word.isupper() else f"no command {word}"
            command = found
        elif word == "--" or not command.context_settings.get("allow_interspersed_args", True):
            return None  # what follows belongs to another program
    return None


def _option(command: click.Command, word: str) -> click.Option | None:
    given = word.partition("=")[0]
    for parameter in command.get_params(click.Context(command)):
        if isinstance(parameter, click.Option):
            short = [o for o in parameter.opts if not o.startswith("--")]
            if given in parameter.opts or (word[:2] in short and word[1] != "-"):
                return parameter
    return None


@pytest.mark.parametrize("name", sorted(generate.pages()))
def test_a_generated_page_is_up_to_date(name: str) -> None:
    assert (PROJECT / "docs" / name).read_text() == generate.pages()[name], (
        "run `python docs/generate.py`"
    )


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_link_leads_somewhere(page: Path) -> None:
    text = _INLINE.sub("", _FENCE.sub("", page.read_text()))
    broken = []
    for target in _LINK.findall(text):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        place = (page.parent / path) if path else page
        if not place.exists() or (anchor and anchor not in anchors(place.read_text())):
            broken.append(target)
    assert broken == []


def anchors(text: str) -> set[str]:
    """The anchors that a page's headings make, as forges do."""
    titles = re.findall(r"^#+ (.*)$", _FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", [*PAGES, *FRAGMENTS], ids=named)
def test_every_call_in_a_page_is_one_of_the_program(page: Path) -> None:
    wrong = {" ".join(words): problem(words) for words in calls(page.read_text())}
    assert {call: words for call, words in wrong.items() if words} == {}


def test_the_readme_shows_the_main_commands() -> None:
    shown = {words[0] for words in calls((PROJECT / "README.md").read_text()) if words}
    assert shown >= {"install", "use", "local", "global", "init", "uninstall", "link", "exec"}


@pytest.mark.parametrize(
    "words",
    [
        ["instal", "6.3"],
        ["install", "--profil", "hip"],
        ["config", "gett", "x"],
        ["use", "-x"],
    ],
)
def test_a_wrong_call_is_found(words: list[str]) -> None:
    assert problem(words) is not None


@pytest.mark.parametrize(
    "words",
    [
        ["--root", "use", "versions"],
        ["exec", "hipcc", "--version", "--anything"],
        ["+6.3", "exec", "-V", "6.3", "cmake", "-B", "build"],
        ["install", "-j8", "--mirror=x", "6.3"],
        ["COMMAND", "--help"],
    ],
)
def test_a_right_call_is_not(words: list[str]) -> None:
    assert problem(words) is None


def test_calls_are_found_in_blocks_lines_and_tables() -> None:
    text = '```sh\neval "$(rocmenv init bash)"\n$ rocmenv use 6.3 # why\n```\n| `rocmenv x \\| y` |'
    assert list(calls(text)) == [["init", "bash"], ["use", "6.3"], ["x"]]


def test_the_manual_page_names_every_command_and_option() -> None:
    manual = (PROJECT / "docs" / "rocmenv.1").read_text().replace("\\-", "-")
    for words, command in generate.commands():
        assert f".SS {words}" in manual
        for forms, _ in generate.options(command):
            assert f".B {forms}" in manual


def test_the_manual_page_has_no_fault() -> None:
    done = subprocess.run(
        [tool("man"), "--warnings", "-l", "-Tutf8", "-Z", str(PROJECT / "docs" / "rocmenv.1")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_every_fragment_of_the_changelog_has_a_known_kind() -> None:
    kinds = {"added", "changed", "deprecated", "removed", "fixed", "security"}
    for fragment in FRAGMENTS:
        assert fragment.name.split(".")[-2] in kinds, fragment.name
        assert fragment.read_text().strip().endswith("."), fragment.name


def modules() -> list[str]:
    found = pkgutil.walk_packages(rocmenv.__path__, "rocmenv.")
    return [module.name for module in found if not module.name.endswith("__main__")]


@pytest.mark.parametrize("name", modules())
def test_the_examples_in_docstrings_are_right(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
