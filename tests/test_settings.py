"""Settings: variable, then file, then default, each with its origin."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rocmenv import settings
from rocmenv.envvars import VARIABLES
from rocmenv.errors import ConfigError
from rocmenv.settings import SETTINGS, Settings, Value, known_setting, parse_value
from rocmenv.store.paths import Root
from tests.builders import process


def given(tmp_path: Path, text: str | None = None, **environ: str) -> Settings:
    root = Root(tmp_path)
    if text is not None:
        root.config.write_text(text)
    return Settings(process(tmp_path, environ), root)


def test_defaults_need_no_file(tmp_path: Path) -> None:
    found = given(tmp_path)
    assert found.value("profile") == Value("hip", "default")
    assert found["search"] == ["/opt"]
    assert found["jobs"] is None
    assert found.aliases() == {}


def test_a_variable_beats_the_file(tmp_path: Path) -> None:
    found = given(tmp_path, "jobs = 3\n", ROCMENV_JOBS=" 5 ")
    assert found.value("jobs") == Value(5, "ROCMENV_JOBS")
    assert given(tmp_path, ROCMENV_JOBS="").value("jobs") == Value(3, f"{tmp_path}/config.toml")


def test_targets_by_variable_and_file(tmp_path: Path) -> None:
    text = 'targets = ["gfx1100", "gfx90a:xnack-"]\n'
    assert given(tmp_path, text)["targets"] == ("gfx1100", "gfx90a:xnack-")
    found = given(tmp_path, text, ROCMENV_TARGETS="gfx942:gfx950").value("targets")
    assert found == Value(("gfx942", "gfx950"), "ROCMENV_TARGETS")


def test_the_file_is_read_once(tmp_path: Path) -> None:
    found = given(tmp_path, "jobs = 3\n")
    assert found["jobs"] == 3
    (tmp_path / "config.toml").write_text("jobs = 4\n")
    assert found["jobs"] == 3


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s.key)
def test_the_table_is_consistent(tmp_path: Path, setting: settings.Setting) -> None:
    assert given(tmp_path)[setting.key] == setting.default
    assert setting.variable is None or setting.variable in {v.name for v in VARIABLES}
    assert setting.default is None or isinstance(setting.default, setting.kind)
    assert setting.meaning[0].islower()


@pytest.mark.parametrize(
    "text",
    [
        "jobs = true",
        "jobs = 0",
        "jobs = -3",
        "jobs = '3'",
        "offline = 1",
        "search = '/opt'",
        "search = [1]",
        "search = ['/opt', 'rel']",
        "search = ['']",
        "targets = 'gfx1100'",
        "targets = [1100]",
        "targets = ['']",
        "profile = 3",
        "legacy = 'x'\njobs = 1.5",
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_name(tmp_path: Path, text: str) -> None:
    key = text.rpartition("\n")[2].partition(" ")[0]
    with pytest.raises(ConfigError, match=f"`{key}` in {tmp_path}/config.toml should be") as caught:
        given(tmp_path, text)[key]
    assert caught.value.hint == f"run `rocmenv config unset {key}`"


def test_a_table_that_is_none_is_as_if_absent(tmp_path: Path) -> None:
    found = given(tmp_path, "legacy = 'x'\naliases = 3\n")
    assert found["legacy.mirror"] is None
    assert found.aliases() == {}


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("offline", "Yes", True),
        ("offline", "0", False),
        ("jobs", "12", 12),
        ("search", "/a::/b c", ["/a", "/b c"]),
        ("search", "/opt/://srv/./rocm:~/r/:~", ["/opt", "/srv/rocm", "~/r", "~"]),
        ("legacy.mirror", " x", " x"),
        ("targets", "gfx90a:xnack-:gfx1100, all", ("gfx90a:xnack-", "gfx1100", "all")),
    ],
)
def test_texts_become_values(key: str, text: str, value: object) -> None:
    assert parse_value(known_setting(key), text, "x") == value


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("jobs", "-1"),
        ("jobs", "²"),
        ("offline", ""),
        ("search", "/opt:rel"),
        ("search", "~other/r"),
        ("search", "."),
        ("targets", ""),
        ("targets", " ,:"),
    ],
)
def test_a_text_that_is_no_value_names_its_origin(key: str, text: str) -> None:
    with pytest.raises(ConfigError, match=r"\(ORIGIN\)$"):
        parse_value(known_setting(key), text, "ORIGIN")


def test_an_unknown_key_has_a_suggestion() -> None:
    with pytest.raises(ConfigError) as caught:
        known_setting("legacy.miror")
    assert caught.value.hint == "did you mean `legacy.mirror`?"
    with pytest.raises(ConfigError) as caught:
        known_setting("zzz")
    assert caught.value.hint == "`rocmenv config list` shows them"


def test_folders_are_read_as_path_lists_have_them(tmp_path: Path) -> None:
    found = given(tmp_path, "search = ['/opt/', '//srv//rocm', '~/r', '~']\n")
    home = process(tmp_path).home
    assert found["search"] == ["/opt", "/srv/rocm", f"{home}/r", str(home)]


@pytest.mark.parametrize("version", [(3, 10, 0), sys.version_info])
def test_a_byte_order_mark_is_all_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: tuple[int, ...]
) -> None:
    monkeypatch.setattr(sys, "version_info", version)
    assert given(tmp_path, "\ufeffjobs = 3\n")["jobs"] == 3


def test_an_alias_that_nobody_set(tmp_path: Path) -> None:
    found = given(tmp_path, "[aliases]\nwork = '6.3'\n")
    assert found.alias("work") == "6.3"
    with pytest.raises(ConfigError, match="`play` is not an alias"):
        found.alias("play")


@pytest.mark.parametrize("text", ["6.10", "6", "['6.3']", "true"])
def test_an_alias_without_quotes_is_refused_and_stops_nothing_else(
    tmp_path: Path, text: str
) -> None:
    """TOML reads 6.10 as the number 6.1, which is another version."""
    found = given(tmp_path, f"[aliases]\nwork = {text}\nplay = '6.3'\n")
    assert found.aliases() == {"play": "6.3"}
    assert found.alias_names() == ["play", "work"]
    message = f"`aliases.work` in {tmp_path}/config.toml should be a text"
    with pytest.raises(ConfigError, match=message) as caught:
        found.alias("work")
    assert "in quotes" in (caught.value.hint or "")


def test_a_folder_in_place_of_the_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(ConfigError, match="config.toml is a folder"):
        given(tmp_path)["jobs"]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the library has no reader before 3.11")
def test_both_readers_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "jobs = 3\n[legacy]\nmirror = 'http://m'\n[aliases]\na = '6'\n"
    by_library = given(tmp_path, text)
    assert by_library["legacy.mirror"] == "http://m"
    monkeypatch.setattr(sys, "version_info", (3, 10, 0))
    by_writer = given(tmp_path, text)
    assert [by_writer[s.key] for s in SETTINGS] == [by_library[s.key] for s in SETTINGS]
    assert by_writer.aliases() == by_library.aliases()
    with pytest.raises(ConfigError, match="is not TOML"):
        given(tmp_path, "jobs =")["jobs"]


@pytest.mark.parametrize(
    ("key", "right", "wrong"),
    [
        ("network.timeout", ("1", "030"), ("0", "-1", "1.5", "x")),
        ("network.retries", ("0", "9"), ("-1", "", "many")),
        ("network.rate", ("1", "500K", "10m", "2G"), ("0", "10MB", "1.5M", "fast", "10M\n")),
        ("network.connections", ("1", "64"), ("0", "all")),
        (
            "network.proxy",
            ("none", "http://h:3128", "https://me:pw@h:1/", "http://[::1]:8"),
            ("h:3128", "socks5://h:1", "http://", "http://h:1/path", "direct", "http://a b"),
        ),
        ("network.ca", ("/etc/ca.pem", "~/ca.pem", "~", "/a b"), ("ca.pem", "./ca.pem", "~joe/x")),
    ],
)
def test_what_settings_of_the_network_take(
    key: str, right: tuple[str, ...], wrong: tuple[str, ...]
) -> None:
    setting = known_setting(key)
    for text in right:
        assert str(parse_value(setting, text, "x")) in (text, text.lstrip("0") or "0")
    for text in wrong:
        with pytest.raises(ConfigError, match=f"`{key}` should be "):
            parse_value(setting, text, "x")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[network]\nretries = -1", "network.retries"),
        ("[network]\nrate = 'x'", "network.rate"),
        ("[network]\nrate = 10", "network.rate"),
        ("[network]\nproxy = 'h:1'", "network.proxy"),
        ("[network]\nca = 'x.pem'", "network.ca"),
    ],
)
def test_the_file_is_held_to_the_same_forms(tmp_path: Path, text: str, key: str) -> None:
    with pytest.raises(ConfigError, match=f"`{key}` in .* should be"):
        given(tmp_path, text)[key]


def test_a_password_that_does_not_fit_is_not_shown(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        given(tmp_path, ROCMENV_PROXY="socks5://me:s3cret@h:1")["network.proxy"]
    assert "s3cret" not in f"{caught.value.message}{caught.value.hint}"
    assert caught.value.hint == "`unset ROCMENV_PROXY` goes back to the default"
