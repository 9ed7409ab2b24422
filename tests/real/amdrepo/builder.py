"""A build: taken from the cache, or made step by step."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from tests.real import debian
from tests.real.amdrepo.cache import (
    Record,
    build_identity,
    file_states,
    find_record,
    newest_finished,
    prune,
)
from tests.real.amdrepo.files import temporary_folder, write_file
from tests.real.amdrepo.index import write_index, write_release
from tests.real.amdrepo.library_paths import bind_to_sysroot, require_running, set_run_paths
from tests.real.amdrepo.names import BuiltRepository, Options, amd_name, release
from tests.real.amdrepo.own_files import add_own_files
from tests.real.amdrepo.packages import write_packages
from tests.real.amdrepo.publish import publish
from tests.real.amdrepo.signing import Key, signing_key
from tests.real.amdrepo.stage import Stage, require_content
from tests.real.amdrepo.tarball import write_tarball


def _silent(_line: str) -> None:
    pass


def build(
    suite: str,
    out: Path,
    *,
    cache: Path,
    options: Options | None = None,
    report: Callable[[str], None] = _silent,
) -> BuiltRepository:
    """The repository of `suite`, below `out`, built unless `cache` has it.

    Several suites may be put below one `out`, as AMD's releases are; they share key and
    listing.  Files of the pool are links into the cache: to damage one, replace it.

    Raises:
        SuiteUnavailable: Debian's suite gives no working ROCm today.
    """
    options = options or Options()
    cache = cache.resolve()
    notes: list[str] = []
    key = signing_key(cache)
    identity = build_identity(suite, cache, options, key)
    with debian.locked(cache / "locks" / suite):
        apt = debian.PrivateApt(cache / "apt" / suite, suite, options.extra)
        try:
            apt.update()
        except debian.MirrorUnreachable as error:
            finished = newest_finished(cache / "built", suite, identity)
            if finished is None:
                raise
            notes.append(f"{suite}: a build of an earlier run is used ({error})")
            report(notes[0])
        else:
            packages = apt.closure()
            version = debian.digest(identity, *(p.sha256 for p in packages))
            finished = cache / "built" / f"{suite}-{version[:16]}"
            if find_record(finished) is None:
                builder = _Builder(apt, packages, options=options, key=key, report=report)
                builder.build(finished, identity)
                prune(cache, finished, suite)
        os.utime(finished)
        return publish(finished, out.resolve(), key, tuple(notes))


class _Builder:
    """One build: the steps from Debian's files to a finished folder, in order."""

    def __init__(
        self,
        apt: debian.PrivateApt,
        packages: Sequence[debian.Package],
        *,
        options: Options,
        key: Key,
        report: Callable[[str], None],
    ) -> None:
        self.suite = apt.suite
        self.packages = packages
        self.apt = apt
        self.options = options
        self.key = key
        self.release = release(_runtime_version(packages), options.codename)
        self.llvm_number = _llvm_number(packages)
        self._report = report
        self._started = time.monotonic()

    def build(self, finished: Path, identity: str) -> None:
        """Make the folder `finished`, all of it or nothing."""
        cache = finished.parent.parent
        work = temporary_folder(cache / "work")
        try:
            debs = self.apt.download()
            self.say(f"{len(self.packages)} Debian packages downloaded")
            stage = self._stage(debs, work)
            sysroot = self._bind(stage, debs, cache / "sysroot")
            result = work / "result"
            names = self._pack(stage, result)
            if self.options.tarball:
                write_tarball(stage, result / "tarball")
                self.say("tarball written")
            record = Record(
                suite=self.suite,
                version=self.release.version,
                codename=self.release.codename,
                identity=identity,
                sysroot=str(sysroot) if sysroot else None,
                packages=names,
                files=file_states(result),
            )
            write_file(result / "built.json", json.dumps(asdict(record), indent=1))
            finished.parent.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(finished, ignore_errors=True)
            result.rename(finished)
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def say(self, line: str) -> None:
        """Report a step with the time since the start."""
        took = time.monotonic() - self._started
        self._report(f"[{took:5.1f} s] {self.suite} {self.release.version}: {line}")

    def _stage(self, debs: Path, work: Path) -> Stage:
        """One tree per AMD package, files at AMD's places."""
        content = {p: name for p in self.packages if (name := amd_name(p.name))}
        debian.unpack_each((debs / p.file_name, work / "deb" / p.name) for p in content)
        self.say(f"{len(content)} packages with ROCm or LLVM unpacked")
        stage = Stage(work / "stage", self.release, self.llvm_number)
        for package, name in content.items():
            stage.add(package, name, work / "deb" / package.name)
            stage.depends[name] += _depends(debs / package.file_name)
        add_own_files(stage)
        require_content(stage)
        return stage

    def _bind(self, stage: Stage, debs: Path, sysroots: Path) -> Path | None:
        """Give all ELF files their library paths; the sysroot, if one was needed."""
        elf = list(stage.elf_files())
        lacking = debian.missing_libraries(elf, stage.library_folders())
        if not lacking:
            set_run_paths(stage, elf)
            require_running(stage)
            self.say(f"{len(elf)} ELF files bound to their tree")
            return None
        reason = lacking[0].split(" (required")[0].rsplit("/", 1)[-1]
        self.say(f"needs its own loader here ({reason})")
        system = [p for p in self.packages if not amd_name(p.name)]
        identity = debian.digest(*(p.sha256 for p in system))
        sysroot = sysroots / f"{self.suite}-{identity[:12]}"
        debian.make_sysroot([debs / p.file_name for p in system], sysroot)
        bind_to_sysroot(stage, elf, sysroot)
        require_running(stage)
        stage.own_loader = True
        self.say(f"{len(elf)} ELF files bound to their tree and {sysroot.name}")
        return sysroot

    def _pack(self, stage: Stage, result: Path) -> list[str]:
        """Packages, index and signature below `result`; the names in the index."""
        base = result / "rocm" / "apt" / self.release.directory
        paragraphs = write_packages(stage, base, self.options, self.suite)
        self.say(f"{len(paragraphs)} packages written")
        dists = base / "dists" / self.release.codename
        write_index(dists, paragraphs)
        write_release(dists, self.release.codename)
        self.key.sign(dists)
        return sorted(paragraph["Package"] for paragraph in paragraphs)


def _runtime_version(packages: Sequence[debian.Package]) -> str:
    found = [p for p in packages if re.fullmatch(r"libamdhip64-\d+", p.name)]
    if len(found) != 1 or not re.fullmatch(r"\d+\.\d+\.\d+", found[0].upstream):
        raise debian.SuiteUnavailable(f"no one HIP runtime with a version of three parts: {found}")
    return found[0].upstream


def _llvm_number(packages: Sequence[debian.Package]) -> str:
    found = [p.name[6:] for p in packages if re.fullmatch(r"clang-\d+", p.name)]
    if len(found) != 1:
        raise debian.SuiteUnavailable(f"not one clang, but {found}")
    return found[0]


def _depends(deb: Path) -> list[str]:
    text = debian.control_fields(deb).get("Depends", "")
    return [item.strip() for item in text.split(",") if item.strip()]
