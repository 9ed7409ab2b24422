"""A mirror of a real release: made from one server, and installed from in both ways."""

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
            root = str(world.folder / name)
            done = world.rocmenv("install", version, ROCM_ROOT=root, ROCMENV_MIRROR=mirror)
            assert done.status == 0, done.err
            question = ("exec", "-V", version, "hipconfig", "--version")
            shown = world.rocmenv(*question, ROCM_ROOT=root)
            same = world.rocmenv(*question)
            assert shown.status == 0, shown.err
            assert shown.out == same.out != ""
