"""An index of wheels in the form of TheRock's, with a small release in it.

The shapes follow the templates in TheRock (`build_tools/packaging/python`): `rocm` comes as
sources, the other projects as wheels without links; the development files are a tar in their
wheel, whose links lead into the other wheels; each wheel with device code lays its files over
those of the libraries, with a list of what to link. All of it is written for these tests.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from tests.builders import put
from tests.fetch.server import Site

SDK = Path(__file__).parent / "rocm_sdk"
"""The modules of the `rocm` that stands in for AMD's."""
TAG = "py3-none-manylinux_2_28_x86_64"
HIPCC = '#!/bin/sh\nprintf \'%s\\n\' "hipcc of $0" "$ROCM_PATH" "$@"\n'
_CLI = """\
import os, sys
from pathlib import Path
def hipcc():
    site = Path(__file__).parent.parent
    for folder in ("_rocm_sdk_devel", "_rocm_sdk_core"):
        program = site / folder / "bin" / "hipcc"
        if program.exists():
            os.execv(program, [str(program), *sys.argv[1:]])
"""


@dataclass(frozen=True)
class File:
    """A file for an archive."""

    data: bytes
    mode: int = 0o644


def text(content: str, mode: int = 0o644) -> File:
    return File(content.encode(), mode)


@dataclass
class Index:
    """Projects with their files, as a server has them below `path`."""

    site: Site
    path: str = "/rocm/whl-next"
    files: dict[str, dict[str, bytes]] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    """Other addresses or attributes for a file's link, by its name."""

    @property
    def url(self) -> str:
        return f"{self.site.url}{self.path}"

    def add(self, project: str, name: str, data: bytes) -> None:
        """Publish one file, and the pages that name it."""
        self.files.setdefault(project, {})[name] = data
        self.site.files[f"{self.path}/{project}/{quote(name)}"] = data
        self.write()

    def write(self) -> None:
        """Make the pages anew."""
        for project, files in self.files.items():
            rows = [self.links.get(name) or f'<a href="{quote(name)}">{name}</a>' for name in files]
            self.site.files[f"{self.path}/{project}/"] = _page(rows)
        projects = [f'<a href="{name}/">{name}</a>' for name in self.files]
        self.site.files[f"{self.path}/"] = _page(projects)

    def with_digests(self, *, wrong: Sequence[str] = ()) -> None:
        """Let the pages tell digests."""
        for files in self.files.values():
            for name, data in files.items():
                digest = hashlib.sha256(data + (b"?" if name in wrong else b"")).hexdigest()
                self.links[name] = f'<a href="{quote(name)}#sha256={digest}">{name}</a>'
        self.write()

    def as_json(self) -> None:
        """Let the pages be those of PEP 691."""
        for project, files in self.files.items():
            rows = [
                {
                    "filename": name,
                    "url": quote(name),
                    "hashes": {"sha256": hashlib.sha256(data).hexdigest()},
                    "size": len(data),
                }
                for name, data in files.items()
            ]
            page = {"meta": {"api-version": "1.1"}, "name": project, "files": rows}
            self.site.files[f"{self.path}/{project}/"] = json.dumps(page).encode()
        page = {"projects": [{"name": name} for name in self.files]}
        self.site.files[f"{self.path}/"] = json.dumps(page).encode()

    def has_release(
        self,
        version: str = "10.0.0",
        *,
        family: str = "",
        devices: Sequence[str] = ("gfx942", "gfx1100"),
        modules: Mapping[str, str] | None = None,
        compressed: bool = False,
    ) -> None:
        """Publish a release: one library wheel for all GPUs with device wheels, or by family.

        `modules` replace modules of `rocm_sdk` by name. `compressed` is the form of the tar.
        """
        libraries = f"rocm-sdk-libraries-{family.lower()}" if family else "rocm-sdk-libraries"
        self.add("rocm", f"rocm-{version}.tar.gz", sources(version, modules or {}))
        self.wheel("rocm-sdk-core", version, core(version), scripts=("hipcc",))
        self.wheel(libraries, version, the_libraries(libraries))
        self.wheel("rocm-sdk-devel", version, devel(version, libraries, compressed=compressed))
        for target in () if family else devices:
            project = f"rocm-sdk-device-{target}"
            needs = (f"rocm-sdk-libraries=={version}",)
            self.wheel(project, version, device(target, version), needs=needs)

    def wheel(
        self,
        project: str,
        version: str,
        files: Mapping[str, File],
        *,
        needs: Sequence[str] = (),
        scripts: Sequence[str] = (),
        tag: str = TAG,
    ) -> str:
        """Publish a wheel; its file name."""
        name, data = wheel(project, version, files, needs=needs, scripts=scripts, tag=tag)
        self.add(project, name, data)
        return name


def wheel(
    project: str,
    version: str,
    files: Mapping[str, File],
    *,
    needs: Sequence[str] = (),
    scripts: Sequence[str] = (),
    tag: str = TAG,
    python: str = "",
) -> tuple[str, bytes]:
    """A wheel's file name and content."""
    stem = f"{project.replace('-', '_')}-{version}"
    metadata = f"Metadata-Version: 2.1\nName: {project}\nVersion: {version}\n"
    metadata += f"Requires-Python: {python}\n" if python else ""
    metadata += "".join(f"Requires-Dist: {need}\n" for need in needs)
    module = project.replace("-", "_")
    commands = "".join(f"{script}={module}._cli:{script}\n" for script in scripts)
    whole = {
        **files,
        f"{stem}.dist-info/METADATA": text(metadata),
        f"{stem}.dist-info/WHEEL": text(
            f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: false\nTag: {tag}\n"
        ),
        **(
            {f"{stem}.dist-info/entry_points.txt": text(f"[console_scripts]\n{commands}")}
            if scripts
            else {}
        ),
    }
    rows = [f"{path},sha256={_digest(file.data)},{len(file.data)}" for path, file in whole.items()]
    whole[f"{stem}.dist-info/RECORD"] = text("\n".join([*rows, f"{stem}.dist-info/RECORD,,", ""]))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for path, file in whole.items():
            member = zipfile.ZipInfo(path, (2026, 8, 26, 0, 0, 0))
            member.external_attr = (0o100000 | file.mode) << 16
            archive.writestr(member, file.data)
    return f"{stem}-{tag}.whl", out.getvalue()


def core(version: str) -> dict[str, File]:
    """The compiler and the HIP run time."""
    plain = version.partition("rc")[0].partition("a")[0]
    return {
        "rocm_sdk_core/__init__.py": text(""),
        "rocm_sdk_core/_cli.py": text(_CLI),
        "_rocm_sdk_core/__init__.py": text(""),
        "_rocm_sdk_core/bin/hipcc": text(HIPCC, 0o755),
        "_rocm_sdk_core/bin/rocminfo": text(HIPCC, 0o755),
        "_rocm_sdk_core/lib/libamdhip64.so.7": text("hip"),
        "_rocm_sdk_core/lib/llvm/bin/clang++": text(HIPCC, 0o755),
        "_rocm_sdk_core/lib/llvm/amdgcn/bitcode/ocml.bc": text("BC"),
        "_rocm_sdk_core/share/therock/dist_info.json": text('{"dist_amdgpu_targets": "gfx1100"}'),
        "_rocm_sdk_core/.info/version": text(f"{plain}\n"),
    }


def the_libraries(project: str) -> dict[str, File]:
    """The host code of the libraries."""
    module = project.replace("-", "_")
    return {
        f"{module}/__init__.py": text(""),
        f"_{module}/__init__.py": text(""),
        f"_{module}/lib/librocblas.so.5": text("rocblas"),
    }


def device(target: str, version: str) -> dict[str, File]:
    """The device code for one GPU, laid over the libraries."""
    place = f".kpack/blas_{target}.kpack"
    link = {"relpath": place, "target": f"../../_rocm_sdk_libraries/{place}"}
    return {
        "_rocm_sdk_libraries/__init__.py": text(""),
        f"_rocm_sdk_libraries/{place}": text(f"KPAK {target}"),
        f"_rocm_sdk_libraries/.devel_links/{target}.json": text(
            json.dumps({"version": version, "links": [link]})
        ),
    }


def devel(version: str, libraries: str, *, compressed: bool) -> dict[str, File]:
    """The development files of a release."""
    return development(
        (*core(version), f"_{libraries.replace('-', '_')}/lib/librocblas.so.5"),
        {"include/hip/hip_runtime.h": b"#pragma once\n", "lib/cmake/hip/hip-config.cmake": b"#\n"},
        {"lib/libamdhip64.so": "libamdhip64.so.7", "llvm": "lib/llvm"},
        compressed=compressed,
    )


def development(
    others: Iterable[str],
    files: Mapping[str, bytes],
    links: Mapping[str, str],
    *,
    compressed: bool = False,
) -> dict[str, File]:
    """What the wheel of development files holds: a tar of `files`, and links to the rest.

    `others` are files of other wheels. Each folder comes before what is in it, files before
    folders, as the real one is packed: the real `rocm-sdk` empties a folder when it first
    meets it.
    """
    out = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder) / "_rocm_sdk_devel"
        for path in others:
            owner, _, below = path.partition("/")
            if owner.startswith("_") and below != "__init__.py":
                _add_link(top, below, "/".join([*[".."] * (below.count("/") + 1), path]))
        for below, target in links.items():
            _add_link(top, below, target)
        for below, data in {"__init__.py": b"", **files}.items():
            put(top, below, data)
        with tarfile.open(fileobj=out, mode="w:xz" if compressed else "w") as tar:
            for here, folders, names in os.walk(top):
                for name in (*names, *folders):
                    place = os.path.join(here, name)
                    tar.add(place, os.path.relpath(place, folder), recursive=False)
    ending = ".xz" if compressed else ""
    return {
        "rocm_sdk_devel/__init__.py": text(""),
        f"rocm_sdk_devel/_devel.tar{ending}": File(out.getvalue()),
    }


def _add_link(top: Path, below: str, target: str) -> None:
    place = top / below
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)


def sources(version: str, modules: Mapping[str, str]) -> bytes:
    """The source distribution of `rocm`, whose build would fail: nobody may build it."""
    files = {f"src/rocm_sdk/{path.name}": path.read_text() for path in sorted(SDK.glob("*.py"))}
    files["src/rocm_sdk/_dist_info.py"] = f"__version__ = {version!r}\n"
    files |= {f"src/rocm_sdk/{name}": content for name, content in modules.items()}
    files |= {
        "PKG-INFO": f"Metadata-Version: 2.4\nName: rocm\nVersion: {version}\n"
        f"Requires-Dist: rocm-sdk-core=={version}\n",
        "setup.py": "raise SystemExit('the sources were built')\n",
        "pyproject.toml": '[build-system]\nrequires = ["setuptools>=70.2.0"]\n',
        "src/rocm.egg-info/entry_points.txt": (
            "[console_scripts]\nrocm-sdk = rocm_sdk.__main__:main\n"
        ),
        "src/rocm.egg-info/top_level.txt": "rocm_sdk\n",
    }
    return packed({f"rocm-{version}/{path}": content for path, content in files.items()})


def packed(files: Mapping[str, str]) -> bytes:
    """A gzip tar of texts."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for path, content in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(content.encode())
            tar.addfile(member, io.BytesIO(content.encode()))
    return out.getvalue()


def _page(rows: Sequence[str]) -> bytes:
    body = "<br/>\n".join(rows)
    return f"<!DOCTYPE html>\n<html><body>\n{body}\n</body></html>\n".encode()


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
