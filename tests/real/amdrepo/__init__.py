"""A package repository in AMD's layout, made of Debian's real ROCm packages.

`build` gives what `repo.radeon.com` gives for one release: a signed `dists` tree, a pool of
packages with AMD's names, versions and places (`/opt/rocm-X.Y.Z`), the key and the listing.
What is in the packages is Debian's own build of the same ROCm, so that compilers compile and
runtimes run.  Suites that are newer than the machine bring their own loader and C library: see
`library_paths.bind_to_sysroot`.

The version of the release is the one of the HIP runtime (`libamdhip64-N`).  Debian's newer
suites mix releases, and the runtime's is the number that a program asks for at run time.
In a suite where other parts are older or newer, these keep their own number in front of AMD's
suffix, as AMD's components do.

    python -m tests.real.amdrepo --suite bookworm --out DIR
"""

from __future__ import annotations

from tests.real.amdrepo.builder import build
from tests.real.amdrepo.cache import default_cache
from tests.real.amdrepo.names import (
    UBUNTU,
    BuiltRepository,
    Options,
    Release,
    amd_name,
    release,
)

__all__ = [
    "UBUNTU",
    "BuiltRepository",
    "Options",
    "Release",
    "amd_name",
    "build",
    "default_cache",
    "release",
]
