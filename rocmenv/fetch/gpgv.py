"""The judge that most Debian-like systems have: the program `gpgv`."""

from __future__ import annotations

import shutil
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from rocmenv.errors import SignatureError
from rocmenv.fetch.verdict import Bad, Fault, Good, Judgement

if TYPE_CHECKING:
    from rocmenv.fetch.clearsign import Clear

_TIMEOUT = 60
# RFC 9580 section 9.5: 1 MD5, 2 SHA-1, 3 RIPEMD-160.
_WEAK = {"1": "MD5", "2": "SHA1", "3": "RIPEMD160"}
# GnuPG doc/DETAILS: the status lines that decide one signature.
_FAULTS = {
    "BADSIG": Fault.ALTERED,
    "EXPSIG": Fault.SIGNATURE_EXPIRED,
    "EXPKEYSIG": Fault.KEY_EXPIRED,
    "REVKEYSIG": Fault.KEY_REVOKED,
    "ERRSIG": Fault.UNREADABLE,
}
_VALIDSIG_FIELDS = 10
_ERRSIG_FIELDS = 6
_NO_KEY = "9"


def is_available() -> bool:
    """Whether the program is on this machine."""
    return shutil.which("gpgv") is not None


def judge(data: bytes, clear: Clear | None, signatures: bytes, ring: bytes) -> Judgement:
    """What `gpgv` says of `data`; `signatures` and `ring` are binary packets.

    Raises:
        SignatureError: `gpgv` cannot be run.
    """
    import subprocess  # noqa: PLC0415 - only where a signature is checked
    import tempfile  # noqa: PLC0415 - only where a signature is checked

    program = shutil.which("gpgv")
    if program is None:
        raise SignatureError("the program `gpgv` is not installed")
    with tempfile.TemporaryDirectory(prefix="rocmenv-gpgv-") as name:
        folder = Path(name)
        for file, content in (("ring", ring), ("data", data), ("signature", signatures)):
            (folder / file).write_bytes(content)
        words = [program, "--homedir", name, "--keyring", str(folder / "ring"), "--status-fd", "1"]
        if clear is None:
            words += [str(folder / "signature"), str(folder / "data")]
        else:
            words += ["--output", str(folder / "text"), str(folder / "data")]
        try:
            run = subprocess.run(words, capture_output=True, timeout=_TIMEOUT, check=False)
        except (OSError, subprocess.SubprocessError) as error:
            raise SignatureError(f"`{program}` cannot be run: {error}") from error
        text = folder / "text"
        read = text.read_bytes().removesuffix(b"\n") if text.exists() else None
    good, bad = parse_status(run.stdout.decode("utf-8", "replace"))
    return Judgement(good, bad, read)


def parse_status(status: str) -> tuple[tuple[Good, ...], tuple[Bad, ...]]:
    """The signatures of `gpgv --status-fd` output: one for each `NEWSIG` line."""
    good: list[Good] = []
    bad: list[Bad] = []
    groups: list[dict[str, list[str]]] = []
    for line in status.splitlines():
        mark, _, rest = line.partition("[GNUPG:] ")
        if mark or not rest:
            continue
        word, *fields = rest.split(" ")
        if word == "NEWSIG" or not groups:
            groups.append({})
        groups[-1].setdefault(word, fields)
    for group in groups:
        verdict = _one(group)
        if isinstance(verdict, Good):
            good.append(verdict)
        elif verdict is not None:
            bad.append(verdict)
    return tuple(good), tuple(bad)


def _one(group: dict[str, list[str]]) -> Good | Bad | None:
    valid = group.get("VALIDSIG", [])
    key = valid[0] if valid else ""
    primary = valid[-1] if len(valid) >= _VALIDSIG_FIELDS else key
    for word, fault in _FAULTS.items():
        if word in group:
            return _bad(group, word, fault, key, primary)
    if "GOODSIG" not in group or len(valid) < _VALIDSIG_FIELDS:
        return None
    if valid[7] in _WEAK:
        return Bad(Fault.WEAK_DIGEST, key, primary, _WEAK[valid[7]])
    return Good(primary, key)


def _bad(group: dict[str, list[str]], word: str, fault: Fault, key: str, primary: str) -> Bad:
    fields = group[word]
    name = key or (fields[0] if fields else "")
    if word == "ERRSIG" and len(fields) >= _ERRSIG_FIELDS and fields[5] == _NO_KEY:
        return Bad(Fault.KEY_UNKNOWN, fields[6] if len(fields) > _ERRSIG_FIELDS else name)
    if word == "EXPKEYSIG":
        ended = group.get("KEYEXPIRED", [""])[0]
        return Bad(fault, name, primary, _day(ended))
    return Bad(fault, name, primary)


def _day(seconds: str) -> str:
    if not seconds.isdigit():
        return seconds.partition("T")[0]
    return f"{datetime.fromtimestamp(int(seconds), timezone.utc):%Y-%m-%d}"
