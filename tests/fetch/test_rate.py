"""The limit of bytes per second, on a clock that only moves when somebody waits."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmenv.fetch.network import Network, bytes_per_second
from rocmenv.fetch.rate import Limit
from rocmenv.fetch.stop import Interrupted
from rocmenv.fetch.transfer import Downloads
from tests.fetch.server import Site


class Clock(threading.Event):
    """An event whose waits move its own time on, at once."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def wait(self, timeout: float | None = None) -> bool:
        self.now += timeout or 0
        return self.is_set()


@given(
    st.integers(1000, 10_000_000),
    st.lists(st.tuples(st.floats(0, 0.2), st.floats(0, 1)), min_size=1, max_size=60),
)
def test_no_second_has_more_bytes_than_the_rate(
    rate: int, steps: list[tuple[float, float]]
) -> None:
    """Bytes are counted over every interval of a second, whatever pauses a server makes."""
    clock = Clock()
    limit = Limit(rate, clock=clock)
    most = limit.piece(1 << 30)
    taken: list[tuple[float, int]] = []
    for idle, share in steps:
        clock.now += idle
        count = max(1, int(most * share))
        limit.take(count, clock)
        taken.append((clock.now, count))
    for start, _ in taken:
        within = sum(count for at, count in taken if start <= at < start + 1 - 1e-6)
        assert within <= rate + most


def test_a_steady_stream_uses_all_of_the_rate() -> None:
    clock = Clock()
    limit = Limit(1_000_000, clock=clock)
    for _ in range(100):
        limit.take(limit.piece(1 << 30), clock)
    assert clock.now - 100 == pytest.approx(100 * limit.piece(1 << 30) / 1_000_000)


def test_pieces_are_small_enough_for_the_rate_and_never_tiny() -> None:
    assert Limit(None).piece(1000) == 1000
    assert Limit(1_000_000).piece(256 * 1024) == 50_000
    assert Limit(1 << 40).piece(256 * 1024) == 256 * 1024
    assert Limit(1).piece(256 * 1024) == 512


def test_without_a_rate_nobody_waits() -> None:
    clock = Clock()
    Limit(None, clock=clock).take(1 << 40, clock)
    assert clock.now == 100


def test_a_wait_for_the_turn_can_be_stopped() -> None:
    cancel = threading.Event()
    threading.Timer(0.2, cancel.set).start()
    start = time.monotonic()
    with pytest.raises(Interrupted):
        Limit(1000).take(1_000_000, cancel)
    assert time.monotonic() - start < 5


def test_all_threads_share_one_rate(site: Site, tmp_path: Path) -> None:
    """The lower bound of the time cannot be missed by a slow machine."""
    site.files |= {f"/{n}": bytes(100_000) for n in range(4)}
    downloads = Downloads(tmp_path / "cache", network=Network(rate=400_000))
    others = [downloads.with_cancel(threading.Event()), downloads.into(tmp_path / "other")]
    threads = [
        threading.Thread(target=one.read, args=(f"{site.url}/{n}",))
        for n, one in enumerate([downloads, downloads, *others])
    ]
    start = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - start >= 0.95


def test_local_files_have_no_limit(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(bytes(10_000_000))
    start = time.monotonic()
    Downloads(tmp_path / "cache", network=Network(rate=1000)).read(path.as_uri())
    assert time.monotonic() - start < 60


@pytest.mark.parametrize(
    ("text", "number"),
    [("1", 1), ("1500", 1500), ("500K", 500_000), ("10m", 10_000_000), ("2G", 2_000_000_000)],
)
def test_how_a_rate_is_written(text: str, number: int) -> None:
    assert bytes_per_second(text) == number


@pytest.mark.parametrize("text", ["", "0", "10MB", "1.5M", "-1", "M", "10 M", "1" * 14, "١"])
def test_what_is_no_rate(text: str) -> None:
    with pytest.raises(ValueError, match="is no rate"):
        bytes_per_second(text)
