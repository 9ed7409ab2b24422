"""`add-target` for RPM packages."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from rocmenv.model.version import Version
from rocmenv.sources import rpm_release
from rocmenv.store.paths import Root
from tests.cli.runner import Runner
from tests.sources.rpm.builders import build_rpm, index, rocm, serve
from tests.sources.rpm.conftest import PLACE, Mirror

if TYPE_CHECKING:
    import pytest

LIBRARY = "lib__rocblas__library"


def test_only_the_package_that_lacks_files_is_fetched(
    capfd: pytest.CaptureFixture[str],
    mirror: Mirror,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rpm_release, "os_release", lambda: 'ID="almalinux"\nVERSION_ID="8.10"\n')
    monkeypatch.setattr(rpm_release, "glibc", lambda: (2, 28))
    folder = tmp_path / "rpms"
    folder.mkdir()
    for path in mirror.made.plain.glob("*.rpm"):
        os.link(path, folder / path.name)
    kernels = {f"{LIBRARY}__Tensile_{gfx}.dat": gfx.encode() for gfx in ("gfx90a", "gfx1100")}
    build_rpm(rocm("kernels", "rocm-core6.3.0", **kernels), folder)
    index(folder)
    mirror.publish()
    serve(mirror.site, folder, PLACE)
    mirror.sign("rocm")
    root = Root(tmp_path / "root")
    runner = Runner(capfd, root, tmp_path)
    environ = {
        "ROCMENV_MIRROR": f"{mirror.site.url}/rocm",
        "ROCMENV_FINGERPRINT": mirror.made.fingerprint,
    }
    words = ("--with", "kernels", "--gpu", "gfx1100", "--prune-targets")
    runner("install", "-q", "6.3.0", "--channel", "rpm", *words, **environ).fine()
    added = root.version(Version.parse("6.3.0")) / "lib/rocblas/library/Tensile_gfx90a.dat"
    assert not added.exists()
    mirror.site.seen.clear()
    runner("add-target", "-q", "gfx90a", "--to", "6.3.0", **environ).fine()
    asked = [Path(r.path).name for r in mirror.site.seen if r.path.endswith(".rpm")]
    assert [name.startswith("kernels6.3.0-") for name in asked] == [True]
    assert added.read_bytes() == b"gfx90a"
    runner("verify", "--deep", "6.3.0", **environ).fine()
