"""The generated parts of the documentation: from click, the settings and the variables.

    python docs/generate.py            write them
    python docs/generate.py --check    say which are out of date; exit status 1 when any is

Run it from the checkout, with rocmenv installed (`pip install -e .`). `tests/test_docs.py`
holds the files to it.
"""  # noqa: INP001 - a script, not a package

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from rocmenv import __version__
from rocmenv.cli.program import program
from rocmenv.env.family import CONSTANTS, FAMILY, Role, Variable, entries, selected
from rocmenv.envvars import VARIABLES
from rocmenv.model.layout import Kind, Layout
from rocmenv.settings import SETTINGS, Setting

DOCS = Path(__file__).parent
_TYPES: dict[type, str] = {
    bool: "true or false",
    int: "number",
    list: "folders",
    tuple: "GPU targets",
    str: "text",
}
_FILES = (
    ("ROOT/versions/VERSION", "the prefix of an installed version"),
    ("ROOT/versions/VERSION/.rocmenv/receipt.json", "what was installed, and from where"),
    ("ROOT/shims/COMMAND", "the shim of a command"),
    ("ROOT/activations", "rendered activations, which shims and hooks read"),
    ("ROOT/version", "the user's default"),
    ("ROOT/projects", "the folders whose pins were seen"),
    ("ROOT/config.toml", "the settings"),
    ("ROOT/catalog.json", "releases and places that rocmenv did not come with"),
    ("ROOT/cache", "verified downloads, and parts of downloads"),
    (".rocm-version", "a project's pin"),
    ("rocm.lock", "the files that a project's version is, by platform"),
)
_STATUSES = (
    ("0", "success"),
    ("1", "failure"),
    ("2", "the words on the command line do not fit, or name no version"),
    ("127", "the selected version has no such command"),
    ("130", "interrupted"),
)


def commands() -> Iterator[tuple[str, click.Command]]:
    """The shown commands with the words that call them, subcommands after their group."""
    context = click.Context(program, info_name="rocmenv")
    for name in program.list_commands(context):
        command = program.get_command(context, name)
        if command is None or command.hidden:
            continue
        yield f"rocmenv {name}", command
        if isinstance(command, click.Group):
            inner = click.Context(command, info_name=name, parent=context)
            for below in command.list_commands(inner):
                found = command.get_command(inner, below)
                if found is not None:
                    yield f"rocmenv {name} {below}", found


def pages() -> dict[str, str]:
    """The text of each generated file, by its name in `docs/`."""
    return {
        "commands.md": _commands(),
        "rocmenv.1": _manual(),
        "settings.md": _filled("settings.md", "settings", _settings()),
        "variables.md": _filled(
            "variables.md", "variables", _family(), "own variables", _own_variables()
        ),
    }


def usage(words: str, command: click.Command) -> str:
    """One line: the call with its arguments."""
    pieces = [words]
    if any(isinstance(p, click.Option) for p in command.params) or isinstance(command, click.Group):
        pieces.append("[OPTIONS]")
    pieces += [_argument(p) for p in command.params if isinstance(p, click.Argument)]
    if isinstance(command, click.Group):
        pieces.append("COMMAND")
    return " ".join(pieces)


def options(command: click.Command) -> Iterator[tuple[str, str]]:
    """The forms of each option, with the place of its value, and its help."""
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            forms = sorted(parameter.opts, key=lambda form: form.startswith("--"))
            value = "" if parameter.is_flag else f" {_value(parameter)}"
            yield ", ".join(forms) + value, parameter.help or ""


def _argument(argument: click.Argument) -> str:
    name = argument.metavar or (argument.name or "").upper()
    if argument.required or name.startswith("["):
        return name
    return f"[{name}]..." if argument.nargs == -1 else f"[{name}]"


def _value(option: click.Option) -> str:
    if option.metavar:
        return option.metavar
    if isinstance(option.type, click.Choice):
        return "|".join(map(str, option.type.choices))
    if isinstance(option.type, click.IntRange):
        return "N"
    named = {"profile": "NAME", "suite": "NAME", "shell_name": "SHELL"}
    return named.get(option.name or "", "TEXT")


def _help(command: click.Command) -> str:
    """The help as Markdown: paragraphs, with click's kept lines as a code block."""
    parts = []
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        if paragraph.startswith("\b"):
            parts.append("```text\n" + paragraph.removeprefix("\b").strip("\n") + "\n```")
        else:
            parts.append(" ".join(paragraph.split()))
    return "\n\n".join(parts)


def _commands() -> str:
    out = [
        "# Commands",
        "",
        "Made by `python docs/generate.py` from the program itself; do not edit.",
        "",
        _help(program),
        "",
        "Every command takes `-h` and `--help`. These come before the command:",
        "",
        *_table(("Option", "Meaning"), [(f"`{forms}`", text) for forms, text in options(program)]),
        "",
    ]
    for words, command in commands():
        out += [f"## {words}", "", "```text", usage(words, command), "```", "", _help(command), ""]
        rows = [(f"`{_cell(forms)}`", _cell(text)) for forms, text in options(command)]
        if rows:
            out += [*_table(("Option", "Meaning"), rows), ""]
    return "\n".join(out).rstrip("\n") + "\n"


def _settings() -> list[str]:
    rows = [
        (
            f"`{setting.key}`",
            _cell(setting.meaning),
            _TYPES[setting.kind],
            f"`{_default(setting)}`" if _default(setting) else "none",
            f"`{setting.variable}`" if setting.variable else "",
        )
        for setting in SETTINGS
    ]
    return _table(("Key", "Meaning", "Kind", "Default", "Variable"), rows)


def _default(setting: Setting) -> str:
    value = setting.default
    if isinstance(value, list):
        return ":".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def _family() -> list[str]:
    rows = [(f"`{row.name}`", _meaning(row), _cell(row.why)) for row in FAMILY]
    return _table(("Variable", "What activation does", "Why: who reads it"), rows)


def _meaning(row: Variable) -> str:
    layout = Layout(Kind.LEGACY)
    places, lists = selected(layout), entries(layout)
    if row.role is Role.SELECT and places[row.name] == "":
        return "set to the prefix"
    own = {
        Role.SELECT: "set to a place in the prefix; cleared where the layout has none",
        Role.CONSTANT: f"set to `{CONSTANTS.get(row.name)}`",
        Role.CLEAR: "cleared",
        Role.LIST_IF_SET: "as a list, but only where it is set already",
    }
    if row.role is Role.DROP:
        dropped = "cleared if it points into another ROCm"
        return (
            f"set where the layout has a place; else {dropped}" if row.name in places else dropped
        )
    if row.role is Role.LIST:
        gone = "entries of other ROCm prefixes go"
        return f"entries in front; {gone}" if row.name in lists else gone
    return own[row.role]


def _own_variables() -> list[str]:
    rows = [
        (f"`{row.name}`", _cell(row.meaning), "you" if row.public else "rocmenv alone")
        for row in VARIABLES
    ]
    return _table(("Variable", "Meaning", "Set by"), rows)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    lines = [head, tuple("---" for _ in head), *rows]
    return ["| " + " | ".join(cells) + " |" for cells in lines]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _filled(name: str, *parts: str | list[str]) -> str:
    """The hand-written file `name` with its generated blocks anew: MARK, LINES, MARK, ..."""
    text = (DOCS / name).read_text(encoding="utf-8")
    for mark, lines in zip(parts[::2], parts[1::2], strict=True):
        begin, end = f"<!-- begin generated: {mark} -->", f"<!-- end generated: {mark} -->"
        block = "\n".join((begin, *lines, end))
        text, count = re.subn(
            f"{re.escape(begin)}.*?{re.escape(end)}",
            block.replace("\\", "\\\\"),
            text,
            count=1,
            flags=re.DOTALL,
        )
        if count == 0:
            msg = f"docs/{name} has no block `{mark}`"
            raise ValueError(msg)
    return text


def _manual() -> str:
    out = [
        '.\\" Made by `python docs/generate.py` from the program itself; do not edit.',
        f'.TH ROCMENV 1 "" "rocmenv {__version__}" "User Commands"',
        ".SH NAME",
        "rocmenv \\- install ROCm releases side by side and select one per shell or project",
        ".SH SYNOPSIS",
        ".B rocmenv",
        "[\\fB+\\fIVERSION\\fR] [\\fIOPTIONS\\fR] \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]",
        ".SH DESCRIPTION",
        *_roff_help(program),
        ".SH OPTIONS",
        *_roff_options(program),
        ".SH COMMANDS",
    ]
    for words, command in commands():
        out += [f".SS {_roff(usage(words, command))}", *_roff_help(command)]
        out += _roff_options(command)
    out += [".SH ENVIRONMENT"]
    for variable in VARIABLES:
        if variable.public:
            out += [".TP", f".B {_roff(variable.name)}", _roff(_sentence(variable.meaning))]
    out += [".SH FILES", "ROOT is what \\fBrocmenv root\\fR prints."]
    for place, meaning in _FILES:
        out += [".TP", f".I {_roff(place)}", _roff(_sentence(meaning))]
    out += [".SH EXIT STATUS"]
    for status, meaning in _STATUSES:
        out += [".TP", f".B {status}", _roff(_sentence(meaning))]
    return "\n".join(out) + "\n"


def _roff_help(command: click.Command) -> list[str]:
    out: list[str] = []
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        if out:
            out.append(".PP")
        if paragraph.startswith("\b"):
            kept = paragraph.removeprefix("\b").strip("\n").split("\n")
            out += [".nf", *map(_roff, kept), ".fi"]
        else:
            out.append(_roff(" ".join(paragraph.split())))
    return out


def _roff_options(command: click.Command) -> list[str]:
    return [
        line
        for forms, text in options(command)
        for line in (".TP", f".B {_roff(forms)}", _roff(text))
    ]


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}." if not text.startswith("1:") else f"{text}."


def _roff(text: str) -> str:
    """A line of text: nothing in it is a request or an escape."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", text)
    return f"\\&{text}" if text[:1] in {".", "'"} else text


def main(words: list[str]) -> int:
    """Write the files, or with `--check` only look."""
    stale = []
    for name, text in pages().items():
        path = DOCS / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if words != ["--check"]:
                path.write_text(text, encoding="utf-8")
    verb = "out of date" if words == ["--check"] else "written"
    for name in stale:
        sys.stdout.write(f"docs/{name}: {verb}\n")
    return 1 if stale and words == ["--check"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
