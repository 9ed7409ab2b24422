"""Where links lead: the work that hostile ones may cause."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from rocmenv.errors import ArchiveError
from rocmenv.fetch.links import Link, Links, meant
from rocmenv.fetch.members import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def place(member: str) -> str | None:
    try:
        return clean(member, "x")
    except ArchiveError:
        return None


def link(member: str, target: str) -> Link:
    from_top, parts = meant(target, ()) or (True, ("..",))
    return Link("o", member, target, parts, from_top, place)


def up_and_down(count: int) -> Iterator[Link]:
    for number in range(count):
        yield link(f"bin/l{number}", "a/" * 200 + "../" * 55 + "x")


def in_folders_of_their_own(count: int) -> Iterator[Link]:
    for number in range(count):
        yield link(f"top{number}/" + "a/" * 250 + "l", "x")


def each_a_folder_deeper(count: int) -> Iterator[Link]:
    for number in range(count):
        yield link(f"{number // 250}/" + "a/" * (number % 250) + "s", ".")


def in_one_circle(count: int) -> Iterator[Link]:
    for number in range(count):
        yield link(f"c{number}", f"c{(number + 1) % count}")


@pytest.mark.parametrize(
    "links", [up_and_down, in_folders_of_their_own, each_a_folder_deeper, in_one_circle]
)
def test_the_work_grows_with_the_number_of_links_and_no_faster(
    links: Callable[[int], Iterator[Link]],
) -> None:
    start = time.process_time()
    Links().resolve(links(1000), ())
    assert time.process_time() - start < 5


def test_links_that_lead_through_very_many_others_are_refused() -> None:
    """Each way alone is one that the kernel would go."""
    long = "a/../" * 120
    links = [link(f"c{n:02}", f"{long}c{n + 1:02}") for n in range(38)]
    assert not Links().resolve(links, ("a",))[1]
    links += [link(f"l{n}", f"{long}c00/../x") for n in range(3000)]
    start = time.process_time()
    with pytest.raises(ArchiveError, match="without end"):
        Links().resolve(links, ("a", "c38"))
    assert time.process_time() - start < 20
