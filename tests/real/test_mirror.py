"""A mirror of a real release: made from one server, installed from, and used to compile."""

from __future__ import annotations

import pytest

from tests.real.world import World, served

pytestmark = pytest.mark.real


def test_a_real_release_is_mirrored_installed_and_runs(world: World) -> None:
    version, folder = world.versions[0], world.folder / "mirror"
    made = world.rocmenv("mirror", version, "--to", str(folder))
    assert made.status == 0, made.err
    again = world.rocmenv("mirror", version, "--to", str(folder))
    assert ", 0 of them new" in again.err
    with served(folder) as address:
        for name, mirror in (("by-file", folder.as_uri()), ("by-http", address)):
            root = world.folder / name
            more = {"ROCM_ROOT": str(root), "ROCMENV_MIRROR": mirror}
            done = world.rocmenv("install", version, **more)
            assert done.status == 0, done.err
            shown = world.rocmenv("exec", "-V", version, "hipconfig", "--version", **more)
            same = world.rocmenv("exec", "-V", version, "hipconfig", "--version")
            assert shown.status == 0, shown.err
            assert shown.out == same.out != ""
