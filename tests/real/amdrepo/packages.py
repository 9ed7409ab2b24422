"""The package files: their control fields, what they need, how they are packed."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.real import debian
from tests.real.amdrepo.files import files_below, write_file
from tests.real.amdrepo.index import file_fields, paragraph_text
from tests.real.amdrepo.names import Options, amd_name
from tests.real.amdrepo.scripts import maintainer_scripts
from tests.real.amdrepo.stage import Stage

METAS: Mapping[str, tuple[str, ...]] = {
    "rocm-language-runtime": ("comgr", "hsa-rocr"),
    "rocm-hip-runtime": ("rocm-language-runtime", "hip-runtime-amd", "rocminfo"),
    "rocm-hip-runtime-dev": (
        *("rocm-hip-runtime", "hip-dev", "hipcc", "hipify-clang", "hsa-rocr-dev"),
        *("hsakmt-roct-dev", "rocm-cmake", "rocm-device-libs", "rocm-llvm"),
    ),
    "rocm-hip-libraries": ("rocm-hip-runtime", "rocblas"),
    "rocm-hip-sdk": ("rocm-hip-runtime-dev", "rocm-hip-libraries", "rocblas-dev"),
    "rocm-opencl-runtime": ("rocm-language-runtime", "rocm-opencl"),
    "rocm-developer-tools": ("amd-smi-lib", "rocm-smi-lib", "rocminfo"),
    "rocm-dev": ("rocm-hip-runtime-dev", "rocm-developer-tools", "rocm-clang-ocl"),
    "rocm": ("rocm-developer-tools", "rocm-hip-sdk", "rocm-opencl-runtime", "rocm-clang-ocl"),
}
"""Meta package → what it needs, as far as the content exists.

Source: https://rocm.docs.amd.com/projects/install-on-linux/en/docs-6.2.0/reference/
package-manager-integration.html
"""

COMPRESSION = {
    "hip-runtime-amd": ("xz", 0),
    "hipcc": ("xz", 0),
    "hsa-rocr": ("xz", 0),
    "comgr": ("zstd", 1),
    "rocm-llvm": ("zstd", 1),
}
"""Package → form and level of its payload.

All three of AMD's payload forms occur; gzip where nothing else is said.
"""

TWIN_LIMIT = 4 << 20
"""Bytes of payload up to which a package always has its unversioned twin."""

UNUSED_RELATIONS = re.compile(r"lib32|libc6-i386|libpfm4|libcurl|libobjc|libc6-dev-i386")
"""What Debian's LLVM packages want only for the parts that are left out here."""

HOST_LIBRARIES = re.compile(
    r"(libc6|libstdc\+\+6|libgcc-s1|libelf1|libnuma1|libdrm2|libdrm-amdgpu1)(t64)?$"
)
"""The libraries that AMD's packages want from the distribution."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """One package to be written, without and with the release in its name."""

    name: str
    version: str
    own: tuple[tuple[str, str], ...]
    """AMD packages it needs, each with its exact version."""
    host: tuple[str, ...]
    """Relations to the distribution's packages, as they are written."""
    size: int
    """Bytes of payload."""

    def control(self, suffix: str, suite: str) -> dict[str, str]:
        """The control fields; `suffix` is the release or nothing."""
        own = [f"{name}{suffix} (= {version})" for name, version in self.own]
        fields = {
            "Package": f"{self.name}{suffix}",
            "Version": self.version,
            "Architecture": debian.ARCHITECTURE,
            "Maintainer": "ROCm made for tests <test@example.invalid>",
            "Installed-Size": str(self.size >> 10),
            "Depends": ", ".join([*own, *self.host]),
            "Section": "devel",
            "Priority": "optional",
            "Description": f"{self.name} of ROCm as Debian {suite} has it, made for tests",
        }
        return {name: value for name, value in fields.items() if value}


def _plans(stage: Stage) -> list[_Plan]:
    """The packages of the staged trees and the meta packages that have content."""
    named = stage.release
    names = stage.names()
    metas = dict(METAS)
    if "rocm-opencl" not in names:
        del metas["rocm-opencl-runtime"]
    versions = {name: stage.upstream.get(name, named.version) + named.suffix for name in names}
    versions |= dict.fromkeys(metas, named.version + named.suffix)
    plans = []
    for name, version in versions.items():
        own = set(metas.get(name, ()))
        host = set()
        for relation in stage.depends[name]:
            package = amd_name(relation.split()[0])
            if package is not None:
                own.add(package)
            elif wanted := _host_relation(relation, own_loader=stage.own_loader):
                host.add(wanted)
        own = {n for n in own | {"rocm-core"} if n != name and n in versions}
        tree = stage.root / name
        size = sum(path.lstat().st_size for path in files_below(tree)) if name in names else 0
        exact = tuple((n, versions[n]) for n in sorted(own))
        plans.append(_Plan(name, version, exact, tuple(sorted(host)), size))
    return plans


def _host_relation(relation: str, *, own_loader: bool) -> str | None:
    """What an AMD package says about the distribution, for what a Debian package says.

    Content with its own loader needs the machine's libraries in no particular version, and
    none but those that AMD's packages name.
    """
    relation = relation.replace(":any", "")
    if UNUSED_RELATIONS.match(relation):
        return None
    if not own_loader:
        return relation
    name = relation.split()[0]
    if name.startswith("lib") and not name.endswith("-perl") and not HOST_LIBRARIES.match(name):
        return None
    return name.removesuffix("t64")


def write_packages(stage: Stage, base: Path, options: Options, suite: str) -> list[dict[str, str]]:
    """Write all packages below `base/pool`; the paragraphs of the index, sorted."""
    named = stage.release

    def write(plan: _Plan) -> list[dict[str, str]]:
        tree = stage.root / plan.name
        if plan.name in METAS:
            tree = stage.root.with_name("meta") / plan.name
            tree.mkdir(parents=True)
        both = options.twins or plan.size <= TWIN_LIMIT
        paragraphs = []
        for suffix in (named.version, "") if both else (named.version,):
            fields = plan.control(suffix, suite)
            deb = base / "pool" / "main" / plan.name[0] / fields["Package"]
            deb /= f"{fields['Package']}_{plan.version}_{debian.ARCHITECTURE}.deb"
            scripts = maintainer_scripts(plan.name, named)
            _write_deb(deb, tree, fields, scripts, COMPRESSION.get(plan.name))
            paragraphs.append(fields | file_fields(deb, base))
        return paragraphs

    plans = sorted(_plans(stage), key=lambda plan: -plan.size)  # the long ones first
    with ThreadPoolExecutor(debian.WORKERS) as pool:
        paragraphs = [paragraph for some in pool.map(write, plans) for paragraph in some]
    return sorted(paragraphs, key=lambda paragraph: paragraph["Package"])


def _write_deb(
    deb: Path,
    tree: Path,
    fields: Mapping[str, str],
    scripts: Mapping[str, str],
    compression: tuple[str, int] | None,
) -> None:
    deb.parent.mkdir(parents=True, exist_ok=True)
    write_file(tree / "DEBIAN" / "control", paragraph_text(fields))
    for name, text in scripts.items():
        write_file(tree / "DEBIAN" / name, text, 0o755)
    kind, level = compression or ("gzip", 1)
    command = [
        "dpkg-deb",
        "--root-owner-group",
        f"-Z{kind}",
        f"-z{level}",
        "-b",
        str(tree),
        str(deb),
    ]
    subprocess.run(command, check=True, capture_output=True)
    shutil.rmtree(tree / "DEBIAN")
