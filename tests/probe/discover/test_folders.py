"""Prefixes by their folders, links, variables, modules and packages."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from rocmenv.model.layout import Kind
from rocmenv.model.version import Version
from rocmenv.probe.discover.alternatives import choices
from rocmenv.probe.discover.gather import Form, discover
from tests.builders import fake_prefix, put
from tests.probe.discover.hosts import host, hows, look, only
from tests.tools import tool

# Folders.


def test_versioned_and_unversioned_folders(tmp_path: Path) -> None:
    fake_prefix(tmp_path / "opt/rocm-6.10.0", "6.10.0")
    fake_prefix(tmp_path / "opt/rocm-6.3.0", "6.3.0")
    fake_prefix(tmp_path / "usr/local/rocm", "6.2.4")
    fake_prefix(tmp_path / "opt/rocket", "6.1.0")
    found = look(tmp_path)
    assert [str(f.version) for f in found.findings] == ["6.2.4", "6.3.0", "6.10.0"]
    assert {f.kind for f in found.findings} == {Kind.LEGACY}
    assert {f.form for f in found.findings} == {Form.WHOLE}
    assert found.findings[1].prefix == f"{tmp_path}/opt/rocm-6.3.0"
    assert found.notes == ()


def test_folders_of_the_setting(tmp_path: Path) -> None:
    fake_prefix(tmp_path / "sw/rocm-6.3.0", "6.3.0")
    assert look(tmp_path).findings == ()
    finding = only(discover(host(tmp_path, search=[f"{tmp_path}/sw"])))
    assert finding.traces[0].told == f"{tmp_path}/sw"


def test_the_core_sdk_beside_its_links(tmp_path: Path) -> None:
    """`/opt/rocm` is a folder of links then, and not a ROCm of its own."""
    rocm = tmp_path / "opt/rocm"
    fake_prefix(rocm / "core-10.0", "10.0.1")
    fake_prefix(rocm / "core-7.14", "7.14.1")
    (rocm / "core").symlink_to("core-10.0")
    (rocm / "core-10").symlink_to("core-10.0")
    for name in ("bin", "lib"):
        (rocm / name).symlink_to(f"core-10.0/{name}")
    old, new = look(tmp_path).findings
    assert (str(old.version), old.kind) == ("7.14.1", Kind.CORE)
    assert (str(new.version), new.kind) == ("10.0.1", Kind.CORE)
    assert new.prefix == f"{rocm}/core-10.0"
    assert new.names == (str(rocm), f"{rocm}/core", f"{rocm}/core-10")


def test_several_names_are_one_finding(tmp_path: Path) -> None:
    prefix = fake_prefix(tmp_path / "opt/rocm-6.3.0", "6.3.0")
    (tmp_path / "opt/rocm").symlink_to("rocm-6.3.0")
    (tmp_path / "other").symlink_to(tmp_path / "opt")
    finding = only(
        look(tmp_path, ROCM_PATH=f"{tmp_path}/opt/rocm/", HIP_PATH=f"{tmp_path}/other/rocm-6.3.0")
    )
    assert finding.prefix == str(prefix)
    assert finding.names == (f"{tmp_path}/opt/rocm", f"{tmp_path}/other/rocm-6.3.0")
    assert hows(finding) == ["variable", "folder"]


def test_the_version_from_a_folders_name(tmp_path: Path) -> None:
    put(tmp_path, "opt/rocm-6.3.1/bin/hipcc", "")
    put(tmp_path, "opt/rocm/bin/hipcc", "")
    named, unnamed = look(tmp_path).findings
    assert named.version == Version.parse("6.3.1")
    assert named.remarks == ("the version is from its name",)
    assert (unnamed.version, unnamed.why) == (None, "it does not say which release it is")


def test_hips_number_is_not_taken_for_a_release(tmp_path: Path) -> None:
    """R13."""
    put(tmp_path, "opt/rocm/bin/hipcc", "")
    put(tmp_path, "opt/rocm/share/hip/version", "HIP_VERSION_MAJOR=7\nHIP_VERSION_MINOR=15\n")
    put(tmp_path, "opt/rocm/bin/.hipVersion", "HIP_VERSION_MAJOR=7\n")
    assert only(look(tmp_path)).version is None


def test_what_an_uninstall_has_left(tmp_path: Path) -> None:
    (tmp_path / "opt/rocm-6.0.0/lib").mkdir(parents=True)
    (tmp_path / "opt/rocm").mkdir()
    finding = only(look(tmp_path))
    assert (finding.form, finding.why) == (
        Form.BROKEN,
        "it has no .info/version and no bin/hipcc",
    )


def test_what_is_ours_is_no_discovery(tmp_path: Path) -> None:
    prefix = fake_prefix(tmp_path / "root/versions/6.3.0", "6.3.0")
    (tmp_path / "opt").mkdir()
    (tmp_path / "opt/rocm").symlink_to(prefix)
    mine = host(tmp_path, ROCM_PATH=str(prefix))
    assert only(discover(mine)).prefix == str(prefix)
    found = discover(
        type(mine)(mine.environ, mine.home, own=f"{tmp_path}/root/versions", places=mine.places)
    )
    assert found.findings == ()


# Alternatives.

REGISTER = """auto
/opt/rocm
rocm-old-man
/usr/share/man/man1/x.1

{0}/opt/rocm-6.3.0
6030
{0}/opt/rocm-6.3.0/x.1
{0}/opt/rocm-6.2.0
6020


"""


def test_the_links_and_the_register_of_alternatives(tmp_path: Path) -> None:
    prefix = fake_prefix(tmp_path / "sdk/rocm-6.3.0", "6.3.0")
    core = fake_prefix(tmp_path / "sdk/rocm/core-10.0", "10.0.0")
    links = tmp_path / "etc/alternatives"
    links.mkdir(parents=True)
    (links / "rocm").symlink_to(prefix)
    (links / "rocm-bin").symlink_to(core / "bin")
    (links / "rocmmod6.3.0").symlink_to("/nowhere")
    (links / "editor").symlink_to("/bin/ed")
    put(tmp_path, "var/lib/dpkg/alternatives/rocm", REGISTER.format(f"{tmp_path}/gone"))
    first, second, *gone = look(tmp_path).findings
    assert (first.prefix, hows(first)) == (str(prefix), ["alternative"])
    assert second.prefix == str(core)
    assert second.traces[0].told == f"{links}/rocm-bin"
    assert [f.prefix for f in gone] == [
        f"{tmp_path}/gone/opt/rocm-6.2.0",
        f"{tmp_path}/gone/opt/rocm-6.3.0",
    ]
    assert {(f.form, f.why) for f in gone} == {(Form.BROKEN, "it is not there")}


def test_the_register_that_update_alternatives_writes(tmp_path: Path) -> None:
    """The real program, with folders of its own."""
    for folder in ("etc/alternatives", "var/lib/dpkg/alternatives"):
        (tmp_path / folder).mkdir(parents=True)
    program = [
        tool("update-alternatives"),
        "--altdir",
        f"{tmp_path}/etc/alternatives",
        "--admindir",
        f"{tmp_path}/var/lib/dpkg/alternatives",
        "--log",
        f"{tmp_path}/log",
    ]
    old, new = (fake_prefix(tmp_path / f"sdk/rocm-{v}", v) for v in ("6.3.0", "6.4.1"))
    for prefix, priority in ((old, "1"), (new, "2")):
        put(prefix, "share/man/man1/hipcc.1", "")
        page = str(prefix / "share/man/man1/hipcc.1")
        link = ["--install", f"{tmp_path}/rocm", "rocm", str(prefix), priority]
        slave = ["--slave", f"{tmp_path}/hipcc.1", "hipcc.1", page]
        subprocess.run([*program, *link, *slave], check=True, capture_output=True)
    first, second = look(tmp_path).findings
    register = f"{tmp_path}/var/lib/dpkg/alternatives/rocm"
    assert [(t.told, t.name) for t in first.traces] == [(register, str(old))]
    chosen = f"{tmp_path}/etc/alternatives/rocm"
    assert [(t.told, t.name) for t in second.traces] == [(chosen, chosen), (register, str(new))]


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        (REGISTER, ["{0}/opt/rocm-6.3.0", "{0}/opt/rocm-6.2.0"]),
        ("auto\n/opt/rocm\n\n/a\n1\n/b\n2\n\n", ["/a", "/b"]),
        ("auto\n/opt/rocm\n\n/a\n1", ["/a"]),
        ("auto\n/opt/rocm\n\n", []),
        ("auto", []),
        ("", []),
        ("\n\n\n\n", []),
        ("auto\n/opt/rocm\n\nrelative\n1\n/b\n2\n\n", ["/b"]),
    ],
)
def test_the_choices_of_a_register(text: str, paths: list[str]) -> None:
    text, paths = text.replace("{0}", "/x"), [p.replace("{0}", "/x") for p in paths]
    assert choices(text) == paths


# The distribution's own.


def test_a_distributions_rocm_is_shared(tmp_path: Path) -> None:
    put(tmp_path, "usr/lib/x86_64-linux-gnu/libamdhip64.so.5.7.1", "")
    put(
        tmp_path,
        "usr/include/rocm-core/rocm_version.h",
        "".join(
            f"#define ROCM_VERSION_{n} {v}\n" for n, v in (("MAJOR", 5), ("MINOR", 7), ("PATCH", 1))
        ),
    )
    finding = only(look(tmp_path))
    assert (finding.prefix, finding.form, str(finding.version)) == (
        f"{tmp_path}/usr",
        Form.SHARED,
        "5.7.1",
    )
    assert "`rocmenv use system`" in finding.why


def test_amds_links_in_usr_bin_are_not_the_distributions(tmp_path: Path) -> None:
    prefix = fake_prefix(tmp_path / "opt/rocm-6.3.0", "6.3.0")
    (tmp_path / "usr/bin").mkdir(parents=True)
    (tmp_path / "usr/bin/hipcc").symlink_to(prefix / "bin/hipcc")
    (tmp_path / "usr/bin/rocminfo").symlink_to("/nowhere/rocminfo")
    assert only(look(tmp_path)).prefix == str(prefix)


# Variables and modules.


@pytest.mark.parametrize("name", ["ROCM_PATH", "ROCM_HOME", "HIP_PATH", "HIP_PATH_62"])
def test_a_variable_names_a_prefix(tmp_path: Path, name: str) -> None:
    prefix = fake_prefix(tmp_path / "sdk", "6.2.4")
    finding = only(look(tmp_path, variables={name: f"{prefix}/"}))
    assert (finding.prefix, finding.traces[0].told) == (str(prefix), name)


@pytest.mark.parametrize("name", ["HIP_PATH_", "HIP_PATH_x", "MY_ROCM_PATH", "ROCM_PATHS"])
def test_another_variable_does_not(tmp_path: Path, name: str) -> None:
    fake_prefix(tmp_path / "sdk", "6.2.4")
    assert look(tmp_path, variables={name: f"{tmp_path}/sdk"}).findings == ()


def test_a_variable_that_leads_nowhere(tmp_path: Path) -> None:
    put(tmp_path, "file", "")
    found = look(
        tmp_path, ROCM_PATH=f"{tmp_path}/gone", HIP_PATH="rocm", ROCM_HOME=f"{tmp_path}/file"
    )
    assert {(f.traces[0].told, f.why) for f in found.findings} == {
        ("ROCM_PATH", "it is not there"),
        ("ROCM_HOME", "it is not a folder"),
    }
    assert found.notes == ("HIP_PATH names rocm, which is not an absolute path",)
    assert look(tmp_path, ROCM_PATH="").findings == ()


def test_hip_path_of_5_names_a_folder_in_the_prefix(tmp_path: Path) -> None:
    prefix = fake_prefix(tmp_path / "opt/rocm-5.4.0", "5.4.0")
    put(prefix, "hip/bin/hipcc", "")
    finding = only(look(tmp_path, HIP_PATH=f"{prefix}/hip"))
    assert finding.prefix == str(prefix)
    assert finding.names == (f"{prefix}/hip",)


def test_a_loaded_module_is_remarked(tmp_path: Path) -> None:
    prefix = fake_prefix(tmp_path / "sdk", "6.2.4")
    finding = only(look(tmp_path, ROCM_PATH=str(prefix), LOADEDMODULES="gcc/12:rocm/6.2.4"))
    assert finding.remarks == ("module rocm/6.2.4 is loaded",)


def test_amds_module_files_lead_to_their_prefix(tmp_path: Path) -> None:
    prefix = fake_prefix(tmp_path / "sdk/rocm-6.3.0", "6.3.0")
    other = fake_prefix(tmp_path / "sdk/rocm-6.4.0", "6.4.0")
    for tree, folder in (
        (prefix, tmp_path / "usr/share/modules/modulefiles/rocm"),
        (other, tmp_path / "mine/rocm"),
    ):
        put(tree, "lib/rocmmod", "#%Module\n")
        folder.mkdir(parents=True)
        (folder / "x").symlink_to(tree / "lib/rocmmod")
    put(tmp_path, "mine/rocm/own", "#%Module\nexec touch /tmp/started\n")
    found = look(tmp_path, MODULEPATH=f"{tmp_path}/mine::/nowhere")
    assert [f.prefix for f in found.findings] == [str(prefix), str(other)]
    assert {tuple(hows(f)) for f in found.findings} == {("module",)}


# Packages.


def test_the_package_that_owns_a_prefix(tmp_path: Path) -> None:
    one = fake_prefix(tmp_path / "opt/rocm-6.3.0", "6.3.0")
    two = fake_prefix(tmp_path / "opt/rocm", "7.2.0")
    three = fake_prefix(tmp_path / "usr/local/rocm", "7.2.1")
    lists = "var/lib/dpkg/info"
    put(tmp_path, f"{lists}/rocm-core6.3.0:amd64.list", f"/.\n{one}\n{one}/.info/version\n")
    put(tmp_path, f"{lists}/bash.list", f"{three}/.info/version\n")
    put(tmp_path, f"{lists}/rocm-core6.3.0.md5sums", f"{three}/.info/version\n")
    files = f"%FILES%\n{str(two)[1:]}/\n{str(two)[1:]}/.info/version\n"
    put(tmp_path, "var/lib/pacman/local/rocm-core-7.2.0-1/files", files)
    remarks = {f.prefix: f.remarks for f in look(tmp_path).findings}
    assert remarks == {
        str(one): ("owned by package rocm-core6.3.0",),
        str(two): ("owned by package rocm-core",),
        str(three): (),
    }
