"""Builders: packages made by rpmbuild, signed by rpmsign, indexed by createrepo_c."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.tools import tool

if TYPE_CHECKING:
    from tests.fetch.keys import Keys
    from tests.fetch.server import Site

PREFIX = "opt/rocm-6.3.0"
VERSION = "6.3.0.60300"
RELEASE = "39.el8"

PAYLOADS = {
    "gzip": "w1.gzdio",
    "xz": "w2.xzdio",
    "zstd": "w1.zstdio",
    "bzip2": "w1.bzdio",
    "lzma": "w2.lzdio",
    "none": "w.ufdio",
}
"""What rpmbuild calls the compressions."""

_SPEC = """\
%global _build_id_links none
%global debug_package %{{nil}}
%global __os_install_post %{{nil}}
Name: {name}
Version: {version}
Release: {release}
Summary: made for a test
License: MIT
BuildArch: {architecture}
AutoReqProv: {automatic}
{fields}
%description
made for a test
%install
cp -a {stage}/. %{{buildroot}}/
%files {listed}
{more}
"""


@dataclass
class Package:
    """A package to build.

    `files` maps a path below `/` to its content, `links` to a link's text, `hard` to the
    path it is a hard link of; `programs` are those of `files` that are executable. `trees`
    maps a path to a folder that is copied there, `sparse` to the size of a file of zeros.
    `fields` and `more` are lines of the spec: of its head and of its list of files. With
    `automatic`, rpmbuild adds what it finds in the files: libraries, interpreters, modules.
    """

    name: str
    version: str = VERSION
    release: str = RELEASE
    fields: Sequence[str] = ()
    files: dict[str, bytes] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    hard: dict[str, str] = field(default_factory=dict)
    trees: dict[str, Path] = field(default_factory=dict)
    sparse: dict[str, int] = field(default_factory=dict)
    programs: frozenset[str] = frozenset()
    more: Sequence[str] = ()
    automatic: bool = False
    architecture: str = "x86_64"


def build_rpm(package: Package, folder: Path, payload: str = "zstd", *words: str) -> Path:
    """Build `package` into `folder`; returns the file. `words` go to rpmbuild."""
    work = folder / f"work-{package.name}-{package.version}-{payload}"
    stage = work / "stage"
    stage.mkdir(parents=True)
    listed = _fill(stage, package)
    (work / "files").write_text("".join(f'"/{name}"\n' for name in listed))
    spec = work / "package.spec"
    text = _SPEC.format(
        name=package.name,
        version=package.version,
        release=package.release,
        architecture=package.architecture,
        automatic="yes" if package.automatic else "no",
        fields="\n".join(package.fields),
        stage=stage,
        listed=f"-f {work}/files" if listed else "",
        more="\n".join(package.more),
    )
    spec.write_text(text)
    run = subprocess.run(
        [
            tool("rpmbuild"),
            "-bb",
            *(f"--define=_topdir {work}", f"--define=_rpmdir {work}/out"),
            f"--define=_binary_payload {PAYLOADS[payload]}",
            *words,
            spec,
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HOME": str(work)},
    )
    assert run.returncode == 0, run.stderr
    (made,) = (work / "out").rglob("*.rpm")
    target = folder / made.name
    made.rename(target)
    return target


def _fill(stage: Path, package: Package) -> list[str]:
    for name, content in package.files.items():
        path = stage / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o755 if name in package.programs else 0o644)
    for name, source in package.hard.items():
        (stage / name).parent.mkdir(parents=True, exist_ok=True)
        os.link(stage / source, stage / name)
    for name, target in package.links.items():
        path = stage / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
    for name, tree in package.trees.items():
        (stage / name).parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-a", tree, stage / name], check=True)
    for name, size in package.sparse.items():
        (stage / name).touch()
        os.truncate(stage / name, size)
    lists = (package.files, package.hard, package.links, package.trees, package.sparse)
    return sorted(name for names in lists for name in names)


def sign(path: Path, keys: Keys, name: str) -> None:
    """Sign the package `path` with the key `name`, in place."""
    extra = "--batch --pinentry-mode loopback --passphrase ''"
    run = subprocess.run(
        [
            tool("rpmsign"),
            "--addsign",
            f"--define=_gpg_name {name}@example.invalid",
            f"--define=_gpg_path {keys.home}",
            f"--define=__gpg {tool('gpg')}",
            f"--define=_gpg_sign_cmd_extra_args {extra}",
            path,
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr


def index(folder: Path, *words: str) -> Path:
    """Write `repodata` for the packages in `folder`; returns that folder."""
    subprocess.run(
        [tool("createrepo_c"), "--quiet", "--no-database", *words, folder],
        check=True,
        capture_output=True,
    )
    return folder / "repodata"


def serve(site: Site, folder: Path, place: str) -> None:
    """Put the packages and the `repodata` of `folder` under `place`, and nothing older."""
    for old in [path for path in site.files if path.startswith(f"{place}/")]:
        del site.files[old]
    for path in [*folder.glob("*.rpm"), *(folder / "repodata").iterdir()]:
        site.files[f"{place}/{path.relative_to(folder)}"] = path.read_bytes()


def rocm(name: str, *requires: str, **files: bytes | str) -> Package:
    """A package of 6.3.0; texts in `files` are links, `__` in a name stands for `/`."""
    paths = {f"{PREFIX}/{key.replace('__', '/')}": value for key, value in files.items()}
    return Package(
        f"{name}6.3.0",
        fields=[f"Requires: {text}" for text in requires],
        files={k: v for k, v in paths.items() if isinstance(v, bytes)},
        links={k: v for k, v in paths.items() if isinstance(v, str)},
        programs=frozenset(k for k in paths if "/bin/" in k),
    )


HIPCC = b"#!/bin/sh\nexport X=/opt/rocm-6.3.0/bin\nprintf '%s' \"$ROCM_PATH\"\n"
CORE = Package(
    "rocm-core6.3.0",
    files={
        f"{PREFIX}/.info/version": b"6.3.0-39\n",
        f"{PREFIX}/lib/pkgconfig/hip.pc": b"prefix=/opt/rocm-6.3.0\n",
        "usr/share/doc/rocm-core6.3.0/copyright": b"MIT\n",
        "etc/ld.so.conf.d/10-rocm.conf": b"/opt/rocm-6.3.0/lib\n",
    },
)
_LLVM = f"{PREFIX}/lib/llvm/bin"
LLVM = Package(
    "rocm-llvm6.3.0",
    fields=["Requires: rocm-core6.3.0"],
    files={
        f"{_LLVM}/clang": b"clang\n" * 50_000,
        f"{_LLVM}/amdclang": b"x",
        f"{_LLVM}/ä b": b"text",
        f"{_LLVM}/empty": b"",
    },
    links={f"{PREFIX}/llvm": "lib/llvm", f"{PREFIX}/bin/up": "../lib/llvm/bin/clang"},
    hard={
        f"{_LLVM}/aa": f"{_LLVM}/clang",
        f"{_LLVM}/zz": f"{_LLVM}/clang",
        f"{_LLVM}/nothing": f"{_LLVM}/empty",
    },
    programs=frozenset({f"{_LLVM}/clang", f"{_LLVM}/amdclang"}),
)
"""It has hard links, of which RPM's archives keep the content with the last name only."""

ROCM = (
    rocm(
        "rocm-hip-runtime-devel",
        "hipcc6.3.0 = 6.3.0.60300-39.el8",
        "rocm-llvm6.3.0",
        "/bin/sh",
        "libc.so.6(GLIBC_2.14)(64bit)",
        "(numactl-libs or libnuma.so.1()(64bit))",
        "libamdhip64.so.6()(64bit)",
    ),
    rocm("hipcc", "rocm-core6.3.0", bin__hipcc=HIPCC),
    LLVM,
    CORE,
    rocm("rocm-hip-sdk", "rocm-hip-runtime-devel6.3.0", "rocblas6.3.0"),
    rocm("rocblas", "rocm-core6.3.0", lib__librocblas__so=b"blas"),
    rocm("rccl", "rocm-core6.3.0", lib__librccl__so=b"rccl"),
    rocm("rocminfo", "rocm-core6.3.0", bin__rocminfo=b"#!/bin/sh\n"),
    Package(
        "hip-runtime-amd6.3.0",
        fields=("Provides: libamdhip64.so.6()(64bit)", "Requires: rocm-core6.3.0"),
        files={f"{PREFIX}/lib/libamdhip64.so.6": b"hip"},
    ),
    # The twin without a suffix, which provides the same library.
    Package(
        "hip-runtime-amd",
        fields=("Provides: libamdhip64.so.6()(64bit)",),
        files={f"{PREFIX}/lib/libamdhip64.so.6": b"hip"},
    ),
    rocm("needs-new", "libc.so.6(GLIBC_99.0)(64bit)"),
)
"""A small release in AMD's shape."""
