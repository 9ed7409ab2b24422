r"""The real places, on a file system of the test's own: `/opt`, `/usr`, `C:\Program Files`."""

from __future__ import annotations

import json

import pytest
from pyfakefs.fake_filesystem import FakeFilesystem, OSType

from rocmenv.model.layout import Kind
from rocmenv.probe.discover.base import Host
from rocmenv.probe.discover.gather import Form, Found, discover
from tests.probe.discover.hosts import hows, only

HEADER = "".join(
    f"#define ROCM_VERSION_{n} {v}\n" for n, v in (("MAJOR", 6), ("MINOR", 2), ("PATCH", 4))
)


def look(**environ: str) -> Found:
    """A host of Linux with AMD's usual search setting."""
    return discover(Host(environ, "/home/you", search=("/opt",)))


def prefix(fs: FakeFilesystem, path: str, version: str) -> None:
    fs.create_file(f"{path}/.info/version", contents=f"{version}-1\n")
    fs.create_file(f"{path}/bin/hipcc", st_mode=0o100755)
    fs.create_file(f"{path}/lib/libamdhip64.so.6")


def test_amds_legacy_packages(fs: FakeFilesystem) -> None:
    prefix(fs, "/opt/rocm-6.3.0", "6.3.0")
    prefix(fs, "/opt/rocm-6.4.1", "6.4.1")
    fs.create_symlink("/etc/alternatives/rocm", "/opt/rocm-6.4.1")
    fs.create_symlink("/opt/rocm", "/etc/alternatives/rocm")
    fs.create_file(
        "/var/lib/dpkg/alternatives/rocm",
        contents="auto\n/opt/rocm\n\n/opt/rocm-6.3.0\n1\n/opt/rocm-6.4.1\n2\n\n",
    )
    fs.create_file(
        "/var/lib/dpkg/info/rocm-core6.4.1.list", contents="/opt/rocm-6.4.1/.info/version\n"
    )
    fs.create_symlink("/usr/bin/hipcc", "/opt/rocm/bin/hipcc")
    old, new = look(ROCM_PATH="/opt/rocm").findings
    assert (old.prefix, str(old.version)) == ("/opt/rocm-6.3.0", "6.3.0")
    assert hows(old) == ["folder", "alternative"]
    assert (new.prefix, str(new.version)) == ("/opt/rocm-6.4.1", "6.4.1")
    assert hows(new) == ["variable", "folder", "alternative"]
    assert new.names == ("/opt/rocm", "/etc/alternatives/rocm")
    assert new.remarks == ("owned by package rocm-core6.4.1",)


def test_the_core_sdk_through_alternatives(fs: FakeFilesystem) -> None:
    prefix(fs, "/opt/rocm/core-7.14", "7.14.1")
    prefix(fs, "/opt/rocm/core-10.0", "10.0.0")
    for name in ("bin", "lib"):
        fs.create_symlink(f"/etc/alternatives/rocm-{name}", f"/opt/rocm/core-10.0/{name}")
        fs.create_symlink(f"/opt/rocm/{name}", f"/etc/alternatives/rocm-{name}")
    fs.create_symlink("/etc/alternatives/core-10", "/opt/rocm/core-10.0")
    fs.create_symlink("/opt/rocm/core-10", "/etc/alternatives/core-10")
    old, new = look(ROCM_PATH="/opt/rocm").findings
    assert (old.prefix, str(old.version), old.kind) == ("/opt/rocm/core-7.14", "7.14.1", Kind.CORE)
    assert (new.prefix, str(new.version), new.kind) == ("/opt/rocm/core-10.0", "10.0.0", Kind.CORE)
    assert "/opt/rocm" in new.names


def test_archs_folder_is_a_prefix(fs: FakeFilesystem) -> None:
    prefix(fs, "/opt/rocm", "7.2.0")
    fs.create_file(
        "/var/lib/pacman/local/rocm-core-7.2.0-1/files",
        contents="%FILES%\nopt/rocm/.info/version\n",
    )
    finding = only(look())
    assert (finding.prefix, finding.form) == ("/opt/rocm", Form.WHOLE)
    assert finding.remarks == ("owned by package rocm-core",)


@pytest.mark.parametrize("folder", ["lib/x86_64-linux-gnu", "lib64", "lib"])
def test_a_distributions_own(fs: FakeFilesystem, folder: str) -> None:
    fs.create_file(f"/usr/{folder}/libamdhip64.so.6")
    fs.create_file("/usr/include/rocm-core/rocm_version.h", contents=HEADER)
    finding = only(look(ROCM_PATH="/usr", HIP_PATH="/usr"))
    assert (finding.prefix, finding.form, str(finding.version)) == ("/usr", Form.SHARED, "6.2.4")


def test_a_host_without_any(fs: FakeFilesystem) -> None:
    fs.create_dir("/opt/google")
    assert look() == Found((), ())


# Windows.

SDK = "C:\\Program Files\\AMD\\ROCm"


@pytest.fixture
def windows(fs: FakeFilesystem) -> FakeFilesystem:
    fs.os = OSType.WINDOWS
    return fs


def on_windows(**environ: str) -> Found:
    return discover(Host(environ, "C:\\Users\\you", windows=True))


def sdk(fs: FakeFilesystem, path: str) -> None:
    fs.create_file(f"{path}\\bin\\hipcc.bat")
    fs.create_file(f"{path}\\bin\\.hipVersion", contents="HIP_VERSION_MAJOR=6\n")


def test_the_hip_sdk_by_variables_and_folders(windows: FakeFilesystem) -> None:
    sdk(windows, f"{SDK}\\6.2")
    sdk(windows, f"{SDK}\\5.7.1")
    sdk(windows, "D:\\sdk")
    windows.create_file("C:\\Program Files\\AMD\\ROCm\\notes.txt")
    windows.create_file(f"{SDK}\\6.2\\include\\rocm-core\\rocm_version.h", contents=HEADER)
    found = on_windows(
        HIP_PATH=f"{SDK}\\6.2\\",
        HIP_PATH_62=f"{SDK}\\6.2\\",
        HIP_PATH_64="D:\\sdk\\",
        HIP_PATH_71=f"{SDK}\\7.1\\",
    )
    old, new, unnamed, gone = found.findings
    assert (old.prefix, str(old.version)) == (f"{SDK}\\5.7.1", "5.7.1")
    assert (new.prefix, str(new.version)) == (f"{SDK}\\6.2", "6.2.4")
    assert hows(new) == ["variable", "hip-sdk"]
    assert [t.told for t in new.traces] == ["HIP_PATH", "HIP_PATH_62", SDK]
    assert new.names == (), "a backslash at the end is no other name"
    assert (gone.prefix, gone.why) == ("D:\\sdk", "it does not say which release it is")
    assert (unnamed.prefix, unnamed.form) == (f"{SDK}\\7.1", Form.BROKEN)


def test_a_folder_without_a_patch_level_names_no_release(windows: FakeFilesystem) -> None:
    """6.2 is 6.2.4 of the HIP SDK, and X.Y.0 elsewhere: neither is guessed."""
    sdk(windows, f"{SDK}\\6.2")
    finding = only(on_windows())
    assert finding.version is None
    assert finding.why == "its folder says 6.2, without a patch level"


def test_wheels_in_an_environment_of_windows(windows: FakeFilesystem) -> None:
    packages = "C:\\work\\.venv\\Lib\\site-packages"
    windows.create_file("C:\\work\\.venv\\pyvenv.cfg")
    windows.create_file(f"{packages}\\_rocm_sdk_devel\\bin\\hipcc.exe")
    windows.create_dir(f"{packages}\\rocm_sdk_devel-10.0.0.dist-info")
    finding = only(on_windows(VIRTUAL_ENV="C:\\work\\.venv"))
    assert finding.prefix == f"{packages}\\_rocm_sdk_devel"
    assert str(finding.version) == "10.0.0"


def test_rocm_cli_on_windows(windows: FakeFilesystem) -> None:
    tree = "C:\\Users\\you\\.rocm\\runtimes\\tarball\\x"
    windows.create_file(f"{tree}\\bin\\hipcc.exe")
    text = json.dumps({"version": "7.13.0", "install_root": tree})
    windows.create_file("C:\\Users\\you\\.rocm\\runtimes\\registry\\x.json", contents=text)
    finding = only(on_windows())
    assert (finding.prefix, str(finding.version)) == (tree, "7.13.0")


def test_a_named_folder_on_windows(windows: FakeFilesystem) -> None:
    sdk(windows, "D:\\tools\\rocm")
    found = discover(Host({}, "C:\\Users\\you", inside=("D:\\tools",), windows=True))
    assert only(found).prefix == "D:\\tools\\rocm"
