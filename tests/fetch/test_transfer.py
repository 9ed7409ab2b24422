"""Downloads against a server with faults."""

from __future__ import annotations

import gzip
import hashlib
import subprocess
import sys
import threading
import time
from email.utils import formatdate
from pathlib import Path

import pytest

from rocmenv.errors import SpaceError, TransferError
from rocmenv.fetch import partial, transfer
from rocmenv.fetch.certificates import Certificates
from rocmenv.fetch.network import Network
from rocmenv.fetch.stop import Interrupted
from rocmenv.fetch.transfer import Downloads, NotThereError
from rocmenv.model.release import Artifact
from tests.fetch.server import Site, serving

BODY = bytes(range(256)) * 2000
NAME = "data.bin"


def artifact(site: Site, *, body: bytes = BODY, name: str = NAME, known: bool = True) -> Artifact:
    site.files.setdefault(f"/{name}", body)
    digest = hashlib.sha256(body).hexdigest()
    size, sha256 = (len(body), digest) if known else (None, None)
    return Artifact(f"{site.url}/{name}", name, size, sha256)


def leftovers(downloads: Downloads) -> list[str]:
    """Files in the cache, lock files and notes on URLs apart."""
    found = (p for p in downloads.cache.rglob("*") if p.is_file())
    return sorted(p.name for p in found if p.parent.name != "url" and p.suffix != ".lock")


def test_a_file_is_stored_under_its_digest(site: Site, downloads: Downloads) -> None:
    told: list[int] = []
    path = downloads.fetch(artifact(site), told.append)
    assert path == downloads.cache / "sha256" / hashlib.sha256(BODY).hexdigest()
    assert path.read_bytes() == BODY
    assert sum(told) == len(BODY)
    assert leftovers(downloads) == [path.name]


def test_a_cached_file_needs_no_request(site: Site, downloads: Downloads) -> None:
    wanted = artifact(site)
    downloads.fetch(wanted)
    told: list[int] = []
    downloads.fetch(wanted, told.append)
    assert site.count(f"/{NAME}") == 1
    assert told == [len(BODY)]


@pytest.mark.parametrize("damage", [b"", b"x" * len(BODY), BODY + b"x"])
def test_a_damaged_cached_file_is_fetched_again(
    site: Site, downloads: Downloads, damage: bytes
) -> None:
    wanted = artifact(site)
    path = downloads.fetch(wanted)
    path.write_bytes(damage)
    assert downloads.fetch(wanted).read_bytes() == BODY
    assert site.count(f"/{NAME}") == 2


def test_without_a_published_digest_the_server_is_asked_whether_it_changed(
    site: Site, downloads: Downloads
) -> None:
    wanted = artifact(site, known=False)
    first = downloads.fetch(wanted)
    told: list[int] = []
    assert downloads.fetch(wanted, told.append) == first
    assert "If-None-Match" in site.seen[1].headers
    assert sum(told) == len(BODY)
    site.files[f"/{NAME}"] = b"new content"
    assert downloads.fetch(wanted).read_bytes() == b"new content"


def test_offline_uses_the_cache_and_says_when_it_cannot(site: Site, downloads: Downloads) -> None:
    wanted, unknown = artifact(site), artifact(site, name="other.bin", known=False)
    downloads.fetch(wanted)
    downloads.fetch(unknown)
    offline = Downloads(downloads.cache, offline=True)
    asked = len(site.seen)
    assert offline.fetch(wanted).read_bytes() == BODY
    assert offline.fetch(unknown).read_bytes() == BODY
    with pytest.raises(TransferError, match="offline"):
        offline.fetch(Artifact(f"{site.url}/third", "third"))
    with pytest.raises(TransferError, match="offline"):
        offline.read(f"{site.url}/third")
    assert len(site.seen) == asked


def test_a_cut_connection_is_resumed_where_it_ended(site: Site, downloads: Downloads) -> None:
    wanted = artifact(site)
    site.script[f"/{NAME}"] = [("cut", 100_000), ("cut", 100_000)]
    told: list[int] = []
    assert downloads.fetch(wanted, told.append).read_bytes() == BODY
    assert [r.headers.get("Range") for r in site.seen] == [None, "bytes=100000-", "bytes=200000-"]
    assert site.seen[1].headers["If-Range"].startswith('"')
    assert sum(told) == len(BODY)


def test_progress_gives_new_attempts(site: Site, downloads: Downloads) -> None:
    site.script[f"/{NAME}"] = [("cut", 50_000)] * 9
    assert downloads.fetch(artifact(site)).read_bytes() == BODY


def test_a_short_read_is_never_taken_for_the_end(site: Site, downloads: Downloads) -> None:
    site.always[f"/{NAME}"] = ("cut", 0)
    with pytest.raises(TransferError, match=r"ended after 0 of 512000 bytes|was cut"):
        downloads.fetch(artifact(site, known=False))
    assert site.count(f"/{NAME}") == 3
    with pytest.raises(TransferError, match=r"ended after|was cut"):
        downloads.read(f"{site.url}/{NAME}")


def test_a_partial_file_of_the_run_before_is_continued(site: Site, downloads: Downloads) -> None:
    wanted = artifact(site)
    site.script[f"/{NAME}"] = [("cut", 100_000), 500, 500, 500]
    with pytest.raises(TransferError):
        downloads.fetch(wanted)
    again = Downloads(downloads.cache, network=Network(pause=0.01))
    assert again.fetch(wanted).read_bytes() == BODY
    assert site.seen[-1].headers["Range"] == "bytes=100000-"


def test_a_server_without_range_starts_again(site: Site, downloads: Downloads) -> None:
    site.script[f"/{NAME}"] = [("cut", 100_000), ("whole",)]
    told: list[int] = []
    assert downloads.fetch(artifact(site), told.append).read_bytes() == BODY
    assert sum(told) == len(BODY)
    assert min(told) == -100_000


def test_a_file_that_changed_meanwhile_starts_again(site: Site, downloads: Downloads) -> None:
    wanted = artifact(site, known=False)
    site.script[f"/{NAME}"] = [("cut", 100_000), 500, 500, 500]
    with pytest.raises(TransferError):
        downloads.fetch(wanted)
    site.files[f"/{NAME}"] = new = BODY[::-1]
    assert downloads.fetch(wanted).read_bytes() == new


def test_a_stale_partial_file_is_dropped_and_fetched_once_whole(
    site: Site, downloads: Downloads
) -> None:
    wanted = artifact(site)
    folder = downloads.cache / "partial"
    folder.mkdir(parents=True)
    (folder / f"{wanted.sha256}.part").write_bytes(b"stale" * 100)
    assert downloads.fetch(wanted).read_bytes() == BODY
    assert [r.headers.get("Range") for r in site.seen] == ["bytes=500-", None]


@pytest.mark.parametrize("length", [len(BODY), len(BODY) + 5])
def test_a_partial_file_of_full_length_but_other_content_is_dropped(
    site: Site, downloads: Downloads, length: int
) -> None:
    wanted = artifact(site)
    folder = downloads.cache / "partial"
    folder.mkdir(parents=True)
    (folder / f"{wanted.sha256}.part").write_bytes(b"x" * length)
    assert downloads.fetch(wanted).read_bytes() == BODY


def test_a_range_beyond_the_end_starts_again(site: Site, downloads: Downloads) -> None:
    wanted = Artifact(f"{site.url}/{NAME}", NAME, None, hashlib.sha256(BODY).hexdigest())
    artifact(site)
    folder = downloads.cache / "partial"
    folder.mkdir(parents=True)
    (folder / f"{wanted.sha256}.part").write_bytes(b"x" * (len(BODY) + 9))
    assert downloads.fetch(wanted).read_bytes() == BODY


def test_a_server_without_etag_is_resumed_by_date(site: Site, downloads: Downloads) -> None:
    site.etag = lambda _body: None
    site.script[f"/{NAME}"] = [("cut", 100_000)]
    assert downloads.fetch(artifact(site, known=False)).read_bytes() == BODY
    assert site.seen[1].headers["If-Range"].endswith("GMT")


def test_without_any_validator_an_unknown_file_is_not_resumed(
    site: Site, downloads: Downloads
) -> None:
    site.etag = lambda _body: 'W/"weak"'
    site.modified = False
    site.script[f"/{NAME}"] = [("cut", 100_000)]
    assert downloads.fetch(artifact(site, known=False)).read_bytes() == BODY
    assert "Range" not in site.seen[1].headers


def test_a_busy_server_is_asked_again(site: Site, downloads: Downloads) -> None:
    site.script[f"/{NAME}"] = [503, ("busy", 0)]
    assert downloads.fetch(artifact(site)).read_bytes() == BODY


def test_a_server_that_stays_busy_is_an_error(site: Site, downloads: Downloads) -> None:
    site.always[f"/{NAME}"] = 503
    with pytest.raises(TransferError, match="HTTP 503") as caught:
        downloads.fetch(artifact(site))
    assert "later" in (caught.value.hint or "")
    assert site.count(f"/{NAME}") == 3


class Waits(threading.Event):
    """Never set; keeps the pauses between attempts, and lets none of them pass."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        if timeout is not None and timeout < 1:  # not a pause, but the look for open sockets
            return super().wait(timeout)
        self.pauses.append(timeout or 0)
        return False


def test_a_server_cannot_ask_for_an_endless_pause(site: Site, tmp_path: Path) -> None:
    artifact(site)
    site.script[f"/{NAME}"] = [("busy", 86_400), ("busy", 7)]
    waits = Waits()
    assert Downloads(tmp_path / "cache", cancel=waits).read(f"{site.url}/{NAME}") == BODY
    assert waits.pauses == [30, 7]


def test_a_server_may_name_the_time_to_come_back(site: Site, tmp_path: Path) -> None:
    """Retry-After as a date: in some seconds, long ago, beyond reason; and nonsense."""
    artifact(site)
    soon, past, far = (formatdate(time.time() + n, usegmt=True) for n in (20, -99, 99_999))
    texts = [soon, past, far, "nonsense", "-5", "1e9", ""]
    site.script[f"/{NAME}"] = [("busy", text) for text in texts]
    waits = Waits()
    network = Network(retries=len(texts), pause=1e-9)
    downloads = Downloads(tmp_path / "cache", cancel=waits, network=network)
    assert downloads.read(f"{site.url}/{NAME}") == BODY
    assert waits.pauses[0] == pytest.approx(20, abs=3)
    assert waits.pauses[1] == 30
    assert len(waits.pauses) == 2  # the others are the client's own, below a second


def test_pauses_grow_and_differ(site: Site, tmp_path: Path) -> None:
    site.always["/x"] = 429
    waits = Waits()
    with pytest.raises(TransferError, match="HTTP 429"):
        Downloads(tmp_path, cancel=waits, network=Network(retries=8)).read(f"{site.url}/x")
    bounds = [(min(30, 2**n), min(30, 1.5 * 2**n)) for n in range(8)]
    assert len(waits.pauses) == 8
    for pause, (least, most) in zip(waits.pauses, bounds, strict=True):
        assert least <= pause <= most
    assert any(pause != least for pause, (least, _) in zip(waits.pauses, bounds, strict=True))


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 520])
def test_what_may_pass_is_tried_again(site: Site, downloads: Downloads, status: int) -> None:
    site.files["/x"] = b"y"
    site.script["/x"] = [status, status]
    assert downloads.read(f"{site.url}/x") == b"y"


@pytest.mark.parametrize("status", [400, 402, 405, 501, 505])
def test_what_will_not_pass_is_not(site: Site, downloads: Downloads, status: int) -> None:
    site.always["/x"] = status
    with pytest.raises(TransferError, match=f"HTTP {status}"):
        downloads.read(f"{site.url}/x")
    assert site.count("/x") == 1


@pytest.mark.parametrize("retries", [0, 2])
def test_the_number_of_tries_is_what_was_set(site: Site, tmp_path: Path, retries: int) -> None:
    site.always["/x"] = 503
    network = Network(retries=retries, pause=0.01)
    with pytest.raises(TransferError):
        Downloads(tmp_path / "cache", network=network).read(f"{site.url}/x")
    assert site.count("/x") == retries + 1


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("first", [50_000, 150_000])
def test_a_part_that_nobody_asked_for_is_never_appended(
    site: Site, downloads: Downloads, first: int, *, known: bool
) -> None:
    """206 with another range than the one that was asked for."""
    wanted = artifact(site, known=known)
    site.script[f"/{NAME}"] = [("cut", 100_000), ("part", first)]
    assert downloads.fetch(wanted).read_bytes() == BODY
    assert [r.headers.get("Range") for r in site.seen] == [None, "bytes=100000-", None]


@pytest.mark.parametrize("action", [("part", 50_000), 416])
def test_starting_again_is_no_try(
    site: Site, downloads: Downloads, tmp_path: Path, action: object
) -> None:
    """Also where no failure is forgiven."""
    wanted = artifact(site)
    site.script[f"/{NAME}"] = [("cut", 100_000), action]
    strict = Downloads(tmp_path / "cache", network=Network(retries=0))
    with pytest.raises(TransferError, match="ended after"):
        strict.fetch(wanted)
    assert strict.fetch(wanted).read_bytes() == BODY


def test_a_range_that_nobody_asked_for_cannot_be_beyond(site: Site, downloads: Downloads) -> None:
    site.always[f"/{NAME}"] = 416
    with pytest.raises(TransferError, match="nobody asked for"):
        downloads.fetch(artifact(site))
    assert site.count(f"/{NAME}") == 1


def test_a_part_without_asking_is_refused(site: Site, downloads: Downloads) -> None:
    artifact(site)
    site.always[f"/{NAME}"] = ("part", 1000)
    with pytest.raises(TransferError, match="HTTP 206"):
        downloads.fetch(artifact(site))
    assert leftovers(downloads) == []


def test_a_file_that_never_stands_still_is_told(site: Site, downloads: Downloads) -> None:
    wanted = artifact(site, known=False)
    site.always[f"/{NAME}"] = ("cut", 100_000)
    tags = iter(range(100))
    site.etag = lambda _body: f'"{next(tags)}"'
    site.modified = False
    with pytest.raises(TransferError, match="changes again and again") as caught:
        downloads.fetch(wanted)
    assert "later" in (caught.value.hint or "")
    assert leftovers(downloads) == []


def test_another_tag_on_each_server_of_one_address_is_no_change(
    site: Site, downloads: Downloads
) -> None:
    """The digest decides; of this file every part is right."""
    tags = iter(range(100))
    site.etag = lambda _body: f'"{next(tags)}"'
    site.script[f"/{NAME}"] = [("cut", 100_000)]
    assert downloads.fetch(artifact(site)).read_bytes() == BODY


def test_a_part_from_another_mirror_is_continued(site: Site, downloads: Downloads) -> None:
    wanted = artifact(site)
    site.script[f"/{NAME}"] = [("cut", 100_000), 404]
    with pytest.raises(NotThereError):
        downloads.fetch(wanted)
    with serving(Site({f"/other/{NAME}": BODY}, etag=lambda _: '"mine"')) as other:
        there = Artifact(f"{other.url}/other/{NAME}", NAME, wanted.size, wanted.sha256)
        assert downloads.fetch(there).read_bytes() == BODY
        assert other.seen[0].headers["Range"] == "bytes=100000-"
        assert "If-Range" not in other.seen[0].headers


PACKED = gzip.compress(bytes(range(256)) * 2000, mtime=0) * 100
FAULTS = {
    "cut off for good": (PACKED[:70_000], "is too short for `x.gz`: 70000 bytes", "only a part"),
    "much too long": (
        PACKED * 9,
        f"is too long for `x.gz`: {len(PACKED) * 9} bytes",
        "another file",
    ),
    "a little too long": (PACKED + b"x", "is too long for `x.gz`", "another file"),
    "other content": (PACKED[:-1] + b"x", "has not the content of `x.gz`", "it was changed"),
    "empty": (b"", "is not `x.gz`: 0 bytes came", "empty file"),
    "a page": (b"<!doctype html>", "a web page instead of gzip", "login page"),
    "a large page": (b"<!doctype html>" * 9000, "a web page instead of gzip", "login page"),
    "another format": (b"PK\x03\x04" * 9, "zip instead of gzip", "another mirror"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_of_a_file_has_its_own_words(
    site: Site, downloads: Downloads, fault: str
) -> None:
    body, words, hint = FAULTS[fault]
    wanted = artifact(site, body=PACKED, name="x.gz")
    site.files["/x.gz"] = body
    with pytest.raises(TransferError) as caught:
        downloads.fetch(wanted)
    assert words in caught.value.message
    assert wanted.url in caught.value.message
    assert hint in (caught.value.hint or "")
    assert leftovers(downloads) == []


def test_the_words_for_faults_differ() -> None:
    assert len({(words, hint) for _, words, hint in FAULTS.values()}) >= len(FAULTS) - 1


def test_of_a_file_of_another_size_little_is_read(site: Site, downloads: Downloads) -> None:
    """What is announced tells before gigabytes have come."""
    wanted = artifact(site, body=bytes(8_000_000))
    site.files[f"/{NAME}"] = bytes(4_000_000)
    told: list[int] = []
    with pytest.raises(TransferError, match="4000000 bytes came .*8000000 bytes were announced"):
        downloads.fetch(wanted, told.append)
    assert sum(told) <= 1_000_000


def test_a_link_that_breaks_says_that_it_can_go_on(site: Site, downloads: Downloads) -> None:
    site.always[f"/{NAME}"] = ("cut", 0)
    with pytest.raises(TransferError, match="ended after 0 of 512000 bytes") as caught:
        downloads.fetch(artifact(site))
    assert "continued from there" in (caught.value.hint or "")


@pytest.mark.parametrize("status", [403, 404, 410])
def test_absent_and_forbidden_are_one(site: Site, downloads: Downloads, status: int) -> None:
    """Object storage answers 403 for an object that does not exist (R14)."""
    site.always["/gone"] = status
    with pytest.raises(NotThereError, match=rf"not there or not allowed \(HTTP {status}\)"):
        downloads.fetch(Artifact(f"{site.url}/gone", "gone"))
    assert site.count("/gone") == 1
    assert leftovers(downloads) == []


def test_other_refusals_are_not_repeated(site: Site, downloads: Downloads) -> None:
    site.always["/x"] = 401
    with pytest.raises(TransferError, match="HTTP 401") as caught:
        downloads.read(f"{site.url}/x")
    assert "NAME:PASSWORD" in (caught.value.hint or "")
    assert site.count("/x") == 1


R14 = [
    ("200-error-page", "text/html", "a web page"),
    ("200-redirect-text", "text/plain", "text"),
    ("200-empty", "application/gzip", "empty"),
]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(("folder", "kind", "words"), R14)
def test_what_came_instead_is_named_and_not_kept(
    site: Site,
    downloads: Downloads,
    cases: Path,
    *,
    folder: str,
    kind: str,
    words: str,
    known: bool,
) -> None:
    """R14: an error page saved as the archive."""
    name = "therock-dist-linux-gfx110X-all-10.0.0.tar.gz"
    body = (cases / "http" / folder / name).read_bytes()
    good = (cases / "archives" / "flat-good.tar.gz").read_bytes()
    wanted = artifact(site, body=good, name=name, known=known)
    site.script[f"/{name}"] = [("say", body, kind)]
    with pytest.raises(TransferError) as caught:
        downloads.fetch(wanted)
    message = caught.value.message
    for part in (wanted.url, "HTTP 200", kind, f"{len(body)} bytes", words):
        assert part in message
    assert caught.value.hint
    assert leftovers(downloads) == []
    assert downloads.fetch(wanted).read_bytes() == good


def test_a_wrong_body_of_the_right_size_names_both_digests(
    site: Site, downloads: Downloads
) -> None:
    wanted = artifact(site)
    site.files[f"/{NAME}"] = other = BODY[::-1]
    with pytest.raises(TransferError, match=hashlib.sha256(other).hexdigest()):
        downloads.fetch(wanted)
    assert leftovers(downloads) == []


def test_never_more_than_the_known_size_is_written(
    site: Site, downloads: Downloads, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = artifact(site)
    largest = 0
    drop = partial.Partial.drop

    def watched(self: partial.Partial) -> None:
        nonlocal largest
        if self.data.exists():
            largest = max(largest, self.data.stat().st_size)
        drop(self)

    monkeypatch.setattr(partial.Partial, "drop", watched)
    site.files[f"/{NAME}"] = BODY * 3
    with pytest.raises(TransferError, match=r"1536000 bytes came .*512000 bytes were announced"):
        downloads.fetch(wanted)
    assert 0 < largest <= len(BODY)
    assert leftovers(downloads) == []


def test_redirects_are_followed(site: Site, downloads: Downloads) -> None:
    artifact(site)
    site.always["/old"] = ("redirect", f"{site.url}/{NAME}")
    assert downloads.read(f"{site.url}/old") == BODY


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://host.invalid/x"])
def test_redirects_leave_the_web_for_nothing(site: Site, downloads: Downloads, target: str) -> None:
    site.always["/old"] = ("redirect", target)
    with pytest.raises(TransferError, match="not a web address"):
        downloads.read(f"{site.url}/old")


def test_a_redirect_circle_ends(site: Site, downloads: Downloads) -> None:
    site.always["/round"] = ("redirect", "/round")
    with pytest.raises(TransferError):
        downloads.read(f"{site.url}/round")


def test_reading_stops_at_the_limit(site: Site, downloads: Downloads) -> None:
    artifact(site)
    with pytest.raises(TransferError, match="larger than 1000 bytes"):
        downloads.read(f"{site.url}/{NAME}", limit=1000)


def test_local_files_are_read_and_cached(tmp_path: Path, downloads: Downloads) -> None:
    path = tmp_path / "a file+ä.bin"
    path.write_bytes(BODY)
    url = path.as_uri()
    assert downloads.read(url) == BODY
    wanted = Artifact(url, path.name, len(BODY), hashlib.sha256(BODY).hexdigest())
    kept = downloads.fetch(wanted)
    assert kept != path
    assert kept.read_bytes() == BODY
    with pytest.raises(NotThereError, match="no such file"):
        downloads.read(f"{url}x")
    with pytest.raises(TransferError):
        downloads.read("file://elsewhere.invalid/x")
    with pytest.raises(NotThereError, match="is not the name of a file"):
        downloads.read("file:///tmp/%00")


@pytest.mark.parametrize("url", ["ftp://host.invalid/x", "x", "", "gopher:x"])
def test_other_addresses_are_refused(downloads: Downloads, url: str) -> None:
    with pytest.raises(TransferError, match="not an http, https or file address"):
        downloads.read(url)


@pytest.mark.parametrize("url", ["http://", "http://host.invalid:x/", "http://a b/", "http://[x/"])
def test_addresses_that_are_none_are_one_error(downloads: Downloads, url: str) -> None:
    with pytest.raises(TransferError):
        downloads.read(url)


def test_an_unknown_host_is_one_clear_error(downloads: Downloads) -> None:
    with pytest.raises(TransferError, match=r"host `no-such-host\.invalid` is not known") as caught:
        downloads.read("http://no-such-host.invalid/x")
    assert "--mirror" in (caught.value.hint or "")


def test_a_refused_connection_is_not_repeated(downloads: Downloads) -> None:
    start = time.monotonic()
    with pytest.raises(TransferError, match="refused"):
        Downloads(downloads.cache, network=Network(pause=5.0, retries=4)).read(
            "http://127.0.0.1:9/x"
        )
    assert time.monotonic() - start < 3


def test_a_silent_server_times_out(site: Site, downloads: Downloads) -> None:
    artifact(site)
    site.always[f"/{NAME}"] = ("wait", 2)
    hasty = Downloads(downloads.cache, network=Network(timeout=0.2, pause=0.01, retries=1))
    with pytest.raises(TransferError, match="does not answer in time"):
        hasty.read(f"{site.url}/{NAME}")
    assert site.count(f"/{NAME}") == 2


def test_plain_answers_to_an_encrypted_request_are_not_a_cut_connection(
    site: Site, tmp_path: Path
) -> None:
    waits = Waits()
    url = site.url.replace("http:", "https:") + "/x"
    with pytest.raises(TransferError, match="no encrypted connection to .*: ") as caught:
        Downloads(tmp_path / "cache", cancel=waits).read(url)
    assert "`http:`" in (caught.value.hint or "")
    assert waits.pauses == []


def test_the_password_of_an_address_is_sent_and_never_shown(
    site: Site, downloads: Downloads
) -> None:
    site.files["/x"] = b"y"
    url = site.url.replace("://", "://me:s3cret@")
    assert downloads.read(f"{url}/x") == b"y"
    assert site.seen[0].headers["Authorization"] == "Basic bWU6czNjcmV0"
    with pytest.raises(TransferError) as caught:
        downloads.read(f"{url}/missing")
    assert "s3cret" not in caught.value.message


def test_the_password_of_an_address_stays_with_its_host(site: Site, downloads: Downloads) -> None:
    with serving(Site({"/x": b"y"})) as other:
        site.always["/x"] = ("redirect", f"{other.url}/x")
        assert downloads.read(site.url.replace("://", "://me:s3cret@") + "/x") == b"y"
        assert "Authorization" in site.seen[0].headers
        assert "Authorization" not in other.seen[0].headers


def test_requests_name_the_program(site: Site, downloads: Downloads) -> None:
    site.files["/x"] = b"y"
    downloads.read(f"{site.url}/x")
    assert site.seen[0].headers["User-Agent"].startswith("rocmenv/")
    assert site.seen[0].headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize("known", [True, False])
def test_threads_that_want_one_file_share_it(
    site: Site, downloads: Downloads, *, known: bool
) -> None:
    wanted = artifact(site, known=known)
    site.always[f"/{NAME}"] = ("drip", 0.002)
    found: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: found.append(downloads.fetch(wanted).read_bytes()))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [BODY] * 6
    bodies = [r for r in site.seen if "If-None-Match" not in r.headers]
    assert len(bodies) == 1


def test_processes_that_want_one_file_share_it(site: Site, downloads: Downloads) -> None:
    wanted = artifact(site)
    site.always[f"/{NAME}"] = ("drip", 0.005)
    code = (
        "import sys; from pathlib import Path; from rocmenv.fetch.transfer import Downloads\n"
        "from rocmenv.model.release import Artifact\n"
        "c, u, n, s, d = sys.argv[1:]\n"
        "p = Downloads(Path(c)).fetch(Artifact(u, n, int(s), d)); print(len(p.read_bytes()))"
    )
    words = [str(downloads.cache), wanted.url, wanted.name, str(wanted.size), str(wanted.sha256)]
    runs = [
        subprocess.Popen([sys.executable, "-c", code, *words], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert [run.communicate()[0].strip() for run in runs] == [str(len(BODY))] * 3
    assert site.count(f"/{NAME}") == 1


def test_cancel_stops_a_slow_download_and_keeps_its_part(site: Site, tmp_path: Path) -> None:
    wanted = artifact(site)
    site.script[f"/{NAME}"] = [("drip", 0.05)]
    cancel = threading.Event()
    stopped = Downloads(tmp_path / "cache", cancel=cancel)
    threading.Timer(0.3, cancel.set).start()
    start = time.monotonic()
    with pytest.raises(Interrupted):
        stopped.fetch(wanted)
    assert time.monotonic() - start < 1.3
    part = tmp_path / "cache" / "partial" / f"{wanted.sha256}.part"
    assert 0 < part.stat().st_size < len(BODY)
    assert Downloads(tmp_path / "cache").fetch(wanted).read_bytes() == BODY
    assert "Range" in site.seen[-1].headers


@pytest.mark.parametrize("action", [("wait", 5), 503])
def test_cancel_stops_a_wait(site: Site, tmp_path: Path, action: object) -> None:
    artifact(site)
    site.always[f"/{NAME}"] = action
    cancel = threading.Event()
    stopped = Downloads(tmp_path / "cache", cancel=cancel, network=Network(pause=20.0))
    threading.Timer(0.2, cancel.set).start()
    start = time.monotonic()
    with pytest.raises(Interrupted):
        stopped.read(f"{site.url}/{NAME}")
    assert time.monotonic() - start < 1.2


def test_cancel_stops_the_wait_for_another_process(site: Site, tmp_path: Path) -> None:
    wanted = artifact(site)
    holder = partial.Partial(tmp_path / "cache", wanted)
    cancel = threading.Event()
    stopped = Downloads(tmp_path / "cache", cancel=cancel)
    with holder.locked(threading.Event()):
        threading.Timer(0.2, cancel.set).start()
        with pytest.raises(Interrupted):
            stopped.fetch(wanted)


def test_a_full_disk_is_named_and_gets_its_space_back(
    site: Site, downloads: Downloads, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: partial.Fetch, *_args: object) -> None:
        self._partial.data.write_bytes(b"x" * 100)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(partial.Fetch, "_receive", full)
    with pytest.raises(SpaceError, match="no space"):
        downloads.fetch(artifact(site))
    assert leftovers(downloads) == []


def test_a_cache_that_cannot_be_made_is_named(site: Site, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(TransferError, match="cache"):
        Downloads(tmp_path / "cache").fetch(artifact(site))


def test_discard_removes_only_cached_files(
    site: Site, downloads: Downloads, tmp_path: Path
) -> None:
    path = downloads.fetch(artifact(site))
    downloads.discard(path)
    downloads.discard(path)
    assert not path.exists()
    other = tmp_path / "precious"
    other.write_text("x")
    downloads.discard(other)
    assert other.exists()


@pytest.mark.parametrize("known", [True, False])
def test_a_link_in_the_cache_is_not_followed(
    site: Site, downloads: Downloads, tmp_path: Path, *, known: bool
) -> None:
    wanted = artifact(site, known=known)
    path = downloads.fetch(wanted)
    aside = tmp_path / "aside"
    path.rename(aside)
    path.symlink_to(aside)
    assert not downloads.fetch(wanted).is_symlink()
    assert aside.read_bytes() == BODY


def test_importing_loads_no_network_module() -> None:
    code = (
        "import sys, rocmenv.fetch.transfer, rocmenv.fetch.pipeline; "
        "print([m for m in ('urllib.request', 'http.client', 'ssl', 'email') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_the_names_of_the_module_are_public() -> None:
    assert transfer.NotThereError is NotThereError


def test_a_certificate_that_nobody_vouches_for_is_named(
    certificate: Path, downloads: Downloads
) -> None:
    with serving(Site(files={"/x": b"y"}), certificate=certificate) as secure:
        with pytest.raises(TransferError, match="certificate of .* is not accepted") as caught:
            downloads.read(f"{secure.url}/x")
        assert "SSL_CERT_FILE" in (caught.value.hint or "")
        assert secure.seen == []


def test_encrypted_downloads_are_resumed_and_stopped(certificate: Path, tmp_path: Path) -> None:
    trusting = Network(pause=0.01, certificates=Certificates(extra=str(certificate)))
    with serving(Site(), certificate=certificate) as secure:
        wanted = artifact(secure)
        secure.script[f"/{NAME}"] = [("cut", 100_000), ("drip", 0.05)]
        cancel = threading.Event()
        stopped = Downloads(tmp_path / "cache", cancel=cancel, network=trusting)
        threading.Timer(0.5, cancel.set).start()
        start = time.monotonic()
        with pytest.raises(Interrupted):
            stopped.fetch(wanted)
        assert time.monotonic() - start < 1.5
        again = Downloads(tmp_path / "cache", network=trusting)
        assert again.fetch(wanted).read_bytes() == BODY
        secure.always["/old"] = ("redirect", "http://127.0.0.1:9/x")
        with pytest.raises(TransferError, match="not encrypted"):
            again.read(f"{secure.url}/old")
