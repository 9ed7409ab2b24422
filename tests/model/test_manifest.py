"""The text of a manifest: the same both ways, and refused when a byte of it is another."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmenv.errors import StoreError
from rocmenv.model.manifest import FILE, FOLDER, LINK, Entry, large_files, parse, render

DIGEST = "0f" * 32
ENTRIES = (
    Entry("bin", FOLDER, 0o755),
    Entry("bin/hipcc", FILE, 0o755, 1042, DIGEST, owner="hipcc6.3.0"),
    Entry("bin/hipcc.bin", LINK, target="hipcc", owner="hipcc6.3.0"),
    Entry("etc/amdocl64.icd", FILE, 0o644, 3, DIGEST),
)
TEXT = f"""rocmenv-manifest 1
d 755 bin
= hipcc6.3.0
f 755 1042 {DIGEST} 1 bin/hipcc
l 1 bin/hipcc.bin\thipcc
f 644 3 {DIGEST} 0 etc/amdocl64.icd
"""

# Any name a file can have, the bytes among them that are no UTF-8.
names = st.binary(min_size=1, max_size=8).map(
    lambda raw: raw.replace(b"/", b"_").replace(b"\0", b"_").decode("utf-8", "surrogateescape")
)
paths = st.lists(names.filter(lambda n: n not in (".", "..")), min_size=1, max_size=3).map("/".join)
modes = st.integers(0, 0o7777)
files = st.builds(
    lambda path, mode, size, digest, owner: Entry(path, FILE, mode, size, digest, "", owner),
    paths,
    modes,
    st.integers(0, 1 << 60),
    st.binary(min_size=32, max_size=32).map(bytes.hex),
    st.just("") | names,
)
links = st.builds(
    lambda path, target, owner: Entry(path, LINK, target=target, owner=owner),
    paths,
    names,
    st.just("") | names,
)
folders = st.builds(lambda path, mode: Entry(path, FOLDER, mode), paths, modes)


def lines(text: str) -> io.StringIO:
    return io.StringIO(text, newline="\n")


def test_the_form_is_the_one_that_is_described() -> None:
    text = "".join(render(ENTRIES))
    assert text.startswith(TEXT)
    assert text.count("\n") == TEXT.count("\n") + 1
    assert tuple(parse(lines(text), "m")) == ENTRIES


@given(st.lists(files | links | folders, max_size=6))
def test_what_is_written_is_read(entries: list[Entry]) -> None:
    made = list(render(entries))
    assert all(line.endswith("\n") and "\n" not in line[:-1] for line in made)
    assert list(parse(made, "m")) == entries


@given(st.data())
def test_no_byte_can_change_unseen(data: st.DataObject) -> None:
    raw = "".join(render(ENTRIES)).encode()
    place = data.draw(st.integers(0, len(raw) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda c: c != raw[place]))
    changed = (raw[:place] + bytes([other]) + raw[place + 1 :]).decode("utf-8", "surrogateescape")
    with pytest.raises(StoreError):
        list(parse(lines(changed), "m"))


@given(st.integers(0, len("".join(render(ENTRIES))) - 1))
def test_a_cut_one_is_refused(length: int) -> None:
    cut = "".join(render(ENTRIES))[:length]
    with pytest.raises(StoreError, match=r"m is damaged"):
        list(parse(io.StringIO(cut, newline="\n"), "m"))


def test_one_of_a_newer_rocmenv_is_told_apart() -> None:
    with pytest.raises(StoreError, match="newer rocmenv") as caught:
        list(parse(["rocmenv-manifest 2\n", "whatever\n"], "m"))
    assert caught.value.hint == "update rocmenv"


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../x", "a/../../x", "a\0b"])
def test_a_path_that_leaves_the_prefix_is_refused(path: str) -> None:
    made = render([Entry(path, FILE, 0o644, 1, DIGEST)])
    with pytest.raises(StoreError, match="m is damaged: line"):
        list(parse(made, "m"))


@given(st.lists(files | links | folders, max_size=8), st.integers(0, 1 << 60))
def test_the_quick_look_sees_the_same_large_files(entries: list[Entry], smallest: int) -> None:
    ordered = sorted({e.path: e for e in entries}.values(), key=lambda e: e.path)
    data = "".join(render(ordered)).encode("utf-8", "surrogateescape")
    wanted = {e.path: e.sha256 for e in ordered if e.kind == FILE and e.size >= smallest}
    assert large_files(data, "m", smallest) == wanted


@given(st.data())
def test_the_quick_look_refuses_what_was_changed(data: st.DataObject) -> None:
    whole = "".join(render(ENTRIES)).encode()
    at = data.draw(st.integers(0, len(whole) - 1))
    kept = data.draw(st.integers(0, len(whole) - 1))
    end = whole.rindex(b"end ")
    count = range(end, end + len(b"end 4"))  # which the lines themselves say
    if at not in count:
        changed = bytes([whole[at] ^ 1])
        with pytest.raises(StoreError, match="m is damaged|newer rocmenv"):
            large_files(whole[:at] + changed + whole[at + 1 :], "m", 0)
    with pytest.raises(StoreError, match="m is damaged"):
        large_files(whole[:kept], "m", 0)
