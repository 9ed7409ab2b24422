"""The text of a lock: stable, complete, and refused when it is something else."""

from __future__ import annotations

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from rocmenv.errors import PinError
from rocmenv.model.lock import Lock, Locked
from rocmenv.model.receipt import Item
from rocmenv.model.version import Version

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20).filter(str.isprintable)
DIGESTS = st.text("0123456789abcdef", min_size=64, max_size=64)
ITEMS = st.builds(Item, TEXTS, TEXTS, st.integers(0, 2**53), DIGESTS, TEXTS)
LOCKED = st.builds(
    Locked,
    platform=TEXTS,
    spec=TEXTS,
    version=st.sampled_from(["6.3.0", "10.0.0rc2", "7.2.4+test"]).map(Version.parse),
    channel=TEXTS,
    origin=TEXTS,
    mirror=TEXTS,
    profile=TEXTS,
    extra=st.tuples(TEXTS),
    targets=st.lists(TEXTS, max_size=3).map(tuple),
    prune=st.booleans(),
    items=st.lists(ITEMS, min_size=1, max_size=3).map(tuple),
)


def parsed(text: str) -> Lock:
    return Lock.from_table(tomlkit.parse(text).unwrap(), "/p/rocm.lock")


def one(**more: object) -> Locked:
    given = {
        "platform": "linux-x86_64",
        "spec": "6.3",
        "version": Version.parse("6.3.3"),
        "channel": "legacy",
        "origin": "https://m/rocm/apt/6.3.3 jammy",
        "mirror": "https://m/rocm",
        "profile": "hip",
        "extra": (),
        "targets": ("gfx1100",),
        "prune": False,
        "items": (Item("hipcc6.3.3", "https://m/rocm/apt/x.deb", 7, "ab" * 32, "1.1"),),
    }
    return Locked(**{**given, **more})  # type: ignore[arg-type]  # fields by name


@given(st.lists(LOCKED, max_size=3, unique_by=lambda p: p.platform))
def test_what_is_written_is_read(platforms: list[Locked]) -> None:
    lock = Lock()
    for platform in platforms:
        lock = lock.with_platform(platform)
    text = lock.render()
    assert parsed(text) == lock
    assert parsed(text).render() == text


def test_the_order_is_that_of_the_names() -> None:
    a, b = one(), one(platform="linux-aarch64")
    texts = {Lock().with_platform(x).with_platform(y).render() for x, y in ((a, b), (b, a))}
    assert len(texts) == 1


def test_one_platform_leaves_the_others_alone() -> None:
    lock = Lock().with_platform(one()).with_platform(one(platform="windows-x86_64"))
    after = lock.with_platform(one(version=Version.parse("6.3.4")))
    assert after.on("windows-x86_64") == lock.on("windows-x86_64")
    assert str(getattr(after.on("linux-x86_64"), "version", "")) == "6.3.4"
    assert after.on("plan9") is None


def test_a_mirror_takes_the_place_of_the_base_alone() -> None:
    elsewhere = Item("x", "https://other/x.deb", 1, "cd" * 32)
    locked = one(items=(*one().items, elsewhere)).at("file:///mnt/rocm/")
    assert [i.url for i in locked.items] == ["file:///mnt/rocm/apt/x.deb", "https://other/x.deb"]
    assert one().at(None) == one()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("schema = 1", "schema = 2"),
        ("schema = 1", ""),
        ("schema = 1", "schema = 0"),
        ("schema = 1", "schema = true"),
        ("schema = 1", 'schema = "1"'),
        ("size = 7", "size = 1" + "0" * 400),
        ("size = 7", "size = true"),
        ('version = "6.3.3"', 'version = "x"'),
        ("size = 7", "size = -1"),
        ("size = 7", 'size = "7"'),
        ("ab" * 32, "ab"),
        ("ab" * 32, "AB" * 32),
        ('name = "linux-x86_64"', ""),
        ('targets = ["gfx1100"]', "targets = [1]"),
        ('targets = ["gfx1100"]', 'targets = "gfx1100"'),
        ("extra = []", "extra = {}"),
        ("hipcc6.3.3", "\\u001b[31m"),
        ("https://m/rocm/apt/6.3.3 jammy", "\\u202e"),
        ('spec = "6.3"', "spec = 6.3"),
        ("prune = false", "prune = 0"),
        ("[[platform.file]]", "[[platform.other]]"),
    ],
)
def test_what_is_no_lock_is_named(old: str, new: str) -> None:
    text = Lock().with_platform(one()).render()
    assert old in text
    with pytest.raises(PinError, match=r"^/p/rocm\.lock "):
        parsed(text.replace(old, new))


def test_a_platform_counts_once() -> None:
    text = Lock().with_platform(one()).render()
    with pytest.raises(PinError, match="twice"):
        parsed(text + text[text.index("[[platform]]") :])
