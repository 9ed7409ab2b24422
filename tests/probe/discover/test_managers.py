"""What rocm-cli, Spack, EasyBuild and pip have installed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rocmenv.model.version import Version
from rocmenv.probe.discover.gather import Form
from tests.builders import fake_prefix, put
from tests.probe.discover.hosts import hows, look, only

# Wheels in environments.


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment as Python makes it."""
    path = tmp_path_factory.mktemp("work") / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(path)], check=True)
    return path


@pytest.fixture
def packages(environment: Path) -> Path:
    """Its `site-packages`, emptied."""
    (found,) = environment.glob("lib/python3*/site-packages")
    subprocess.run(["find", str(found), "-mindepth", "1", "-delete"], check=True)
    return found


def wheels(packages: Path, version: str, *names: str, info: bool = True) -> None:
    """TheRock's wheels as pip and `rocm-sdk init` leave them: `devel` links into `core`."""
    for name in names:
        put(packages, f"rocm_sdk_{name}-{version}.dist-info/METADATA", f"Version: {version}\n")
        if not (packages / f"_rocm_sdk_{name}").exists():
            fake_prefix(packages / f"_rocm_sdk_{name}", version)
        if not info:
            (packages / f"_rocm_sdk_{name}/.info/version").unlink()
    put(packages, "rocm-10.0.0.dist-info/METADATA", "")
    if "devel" in names:
        program = packages / "_rocm_sdk_devel/bin/hipcc"
        program.unlink()
        program.symlink_to("../../_rocm_sdk_core/bin/hipcc")


@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "CONDA_PREFIX"])
def test_the_whole_tree_of_the_active_environment(
    tmp_path: Path, environment: Path, packages: Path, variable: str
) -> None:
    wheels(packages, "10.0.0", "core", "devel")
    finding = only(look(tmp_path, variables={variable: str(environment)}))
    assert finding.prefix == f"{packages}/_rocm_sdk_devel"
    assert (str(finding.version), finding.form) == ("10.0.0", Form.WHOLE)
    assert finding.traces[0].told == variable
    assert finding.remarks == (f"goes with the environment {environment}",)


def test_devel_with_a_linked_bin_stays_itself(
    tmp_path: Path, environment: Path, packages: Path
) -> None:
    wheels(packages, "10.0.0", "core", "devel")
    devel = packages / "_rocm_sdk_devel"
    subprocess.run(["rm", "-r", str(devel / "bin"), str(devel / ".info")], check=True)
    (devel / "bin").symlink_to("../_rocm_sdk_core/bin")
    finding = only(look(tmp_path, VIRTUAL_ENV=str(environment)))
    assert finding.prefix == str(devel)
    assert str(finding.version) == "10.0.0"


@pytest.mark.parametrize("version", ["10.0.0", "10.1.0a20260901"])
def test_the_version_of_the_wheels_where_the_tree_has_none(
    tmp_path: Path, environment: Path, packages: Path, version: str
) -> None:
    wheels(packages, version, "core", "devel", info=False)
    finding = only(look(tmp_path, VIRTUAL_ENV=str(environment)))
    assert finding.version == Version.parse(version)
    assert "the version is from VIRTUAL_ENV" in finding.remarks


@pytest.mark.parametrize(
    ("packed", "words"), [(None, "`rocm[devel]`"), ("_devel.tar.xz", "`rocm-sdk init`")]
)
def test_the_core_alone_is_a_part(
    tmp_path: Path, environment: Path, packages: Path, packed: str | None, words: str
) -> None:
    wheels(packages, "10.0.0", "core")
    if packed:
        put(packages, f"_rocm_sdk_devel/{packed}", "")
    finding = only(look(tmp_path, VIRTUAL_ENV=str(environment)))
    assert finding.prefix == f"{packages}/_rocm_sdk_core"
    assert finding.form is Form.PARTIAL
    assert words in finding.why


def test_an_environment_without_them(tmp_path: Path, environment: Path, packages: Path) -> None:
    assert look(tmp_path, VIRTUAL_ENV=str(environment), CONDA_PREFIX="conda").findings == ()


def test_an_environment_in_a_named_folder(
    tmp_path: Path, environment: Path, packages: Path
) -> None:
    wheels(packages, "10.0.0", "core", "devel")
    finding = only(look(tmp_path, inside=[environment.parent]))
    assert (finding.traces[0].told, hows(finding)) == (str(environment), ["wheel"])


# rocm-cli.


def record(folder: Path, name: str, **fields: object) -> Path:
    """A record of rocm-cli, in the form of its register."""
    value = {"runtime_key": name, "runtime_id": "therock-release:gfx110X-all", **fields}
    return put(folder, f"runtimes/registry/{name}.json", json.dumps(value))


@pytest.mark.parametrize("where", ["home", "variable", "config", "leaf"])
def test_a_tarball_of_rocm_cli(tmp_path: Path, where: str) -> None:
    data = tmp_path / ("home/.rocm" if where == "home" else "data")
    prefix = fake_prefix(data / "runtimes/tarball/x", "7.13.0")
    file = record(data, "x", format="tarball", version="7.13.0", install_root=str(prefix))
    environ = {"ROCM_CLI_DATA_DIR": str(data)} if where == "variable" else {}
    if where in ("config", "leaf"):
        top = data if where == "config" else data / "runtimes/wheel/y"
        text = json.dumps({"setup": {"therock_venv": f" {top} "}})
        put(tmp_path, "home/.rocm/config.json", text)
    finding = only(look(tmp_path, variables=environ))
    assert (finding.prefix, hows(finding)) == (str(prefix), ["rocm-cli"])
    assert finding.traces[0].told == str(file)


def test_wheels_of_rocm_cli(tmp_path: Path, environment: Path, packages: Path) -> None:
    wheels(packages, "10.0.0", "core", "devel", info=False)
    data = tmp_path / "home/.rocm"
    root = str(packages / "_rocm_sdk_devel")
    record(
        data,
        "x",
        format="wheel",
        version="10.0.0",
        install_root=str(environment),
        rocm_sdk={"import_ok": True, "root_path": root},
    )
    finding = only(look(tmp_path))
    assert (finding.prefix, str(finding.version), hows(finding)) == (root, "10.0.0", ["rocm-cli"])


def test_a_record_whose_folder_is_gone_or_that_is_none(tmp_path: Path) -> None:
    data = tmp_path / "home/.rocm"
    record(data, "gone", version="7.13.0", install_root="/nowhere/rocm")
    empty = record(data, "nothing", version="7.13.0", rocm_sdk=None, install_root=7)
    bad = put(data, "runtimes/registry/bad.json", "{")
    put(data, "runtimes/registry/list.json", "[]")
    put(data, "runtimes/registry/README", "{")
    found = look(tmp_path)
    assert (only(found).prefix, only(found).why) == ("/nowhere/rocm", "it is not there")
    assert found.notes == (f"{bad} is not JSON", f"{empty} names no folder")


# Spack.


def index(tree: Path, *records: object, version: object = "8") -> None:
    """The database of a tree, as Spack's documentation shows it."""
    installs = {str(number): value for number, value in enumerate(records)}
    value = {"database": {"version": version, "installs": installs}}
    put(tree, ".spack-db/index.json", json.dumps(value))


def spec(name: str, version: str, path: object, **more: object) -> dict[str, object]:
    return {"spec": {"name": name, "version": version, **more}, "path": path, "installed": True}


@pytest.mark.parametrize("where", ["variable", "home", "usual", "named"])
def test_the_hip_package_of_spack_is_a_part(tmp_path: Path, where: str) -> None:
    top = {"home": tmp_path / "home/spack", "usual": tmp_path / "opt/spack"}.get(
        where, tmp_path / "elsewhere"
    )
    tree = top / "opt/spack"
    hip = tree / "linux-zen3/hip-6.3.0-abc"
    put(hip, "bin/hipcc", "")
    index(tree, spec("hip", "6.3.0", str(hip)), spec("zlib", "1.3", f"{tree}/zlib"))
    environ = {"SPACK_ROOT": str(top)} if where == "variable" else {}
    inside = [tmp_path / "elsewhere"] if where == "named" else []
    finding = only(look(tmp_path, inside=inside, variables=environ))
    assert (finding.prefix, str(finding.version)) == (str(hip), "6.3.0")
    assert (finding.form, hows(finding)) == (Form.PARTIAL, ["spack"])
    assert "`spack load hip`" in finding.why


def test_an_external_package_is_somebody_elses_whole_tree(tmp_path: Path) -> None:
    prefix = fake_prefix(tmp_path / "sdk/rocm-6.3.0", "6.3.0")
    hip = spec("hip", "6.3.0", str(prefix), external={"path": str(prefix), "module": None})
    index(tmp_path / "opt/spack", hip)
    finding = only(look(tmp_path))
    assert (finding.prefix, finding.form) == (str(prefix), Form.WHOLE)


def test_the_older_form_and_what_is_not_installed(tmp_path: Path) -> None:
    old = tmp_path / "hip"
    put(old, "bin/hipcc", "")
    index(
        tmp_path / "opt/spack",
        {"spec": {"hip": {"version": "5.0.2"}}, "path": str(old), "installed": True},
        {**spec("hip", "6.0.0", "/nowhere"), "installed": False},
        spec("hip", "6.1.0", None),
        {"spec": None, "path": "/x"},
        {"spec": {"hip": 1}, "path": "/x"},
        7,
        version=5,
    )
    assert str(only(look(tmp_path)).version) == "5.0.2"


@pytest.mark.parametrize(
    "text", ["[]", '{"database": 1}', '{"database": {"installs": []}}', "null"]
)
def test_a_strange_database_is_passed_over(tmp_path: Path, text: str) -> None:
    put(tmp_path, "opt/spack/.spack-db/index.json", text)
    assert look(tmp_path).findings == ()


def test_a_prefix_of_spack_is_told_by_itself(tmp_path: Path) -> None:
    """Also where nothing tells of its tree."""
    put(tmp_path, "hip/bin/hipcc", "")
    put(tmp_path, "hip/.spack/spec.json", "{}")
    assert only(look(tmp_path, HIP_PATH=f"{tmp_path}/hip")).form is Form.PARTIAL


# EasyBuild.


@pytest.mark.parametrize(
    ("package", "folder", "version", "form"),
    [
        ("ROCm", "5.6.0-GCCcore-11.3.0", "5.6.0", Form.WHOLE),
        ("HIP", "6.4.43483-LLVMtc-19.0.0-ROCm-6.4.1", "6.4.1", Form.PARTIAL),
        ("HIP", "5.6.0-GCCcore-11.3.0-amd", None, Form.PARTIAL),
    ],
)
@pytest.mark.parametrize("where", ["usual", "variable", "software", "home", "named"])
def test_software_of_easybuild(
    tmp_path: Path, package: str, folder: str, version: str | None, form: Form, where: str
) -> None:
    tops = {"usual": "apps", "home": "home/.local/easybuild"}
    top = tmp_path / tops.get(where, "eb")
    prefix = top / "software" / package / folder
    put(prefix, "bin/hipcc", "")
    put(prefix, f"easybuild/{package}-{folder}.eb", "")
    put(top, f"software/{package}/other/bin/hipcc", "")  # without a recipe: not EasyBuild's
    environ = {
        "variable": {"EASYBUILD_INSTALLPATH": str(top)},
        "software": {"EASYBUILD_INSTALLPATH_SOFTWARE": f"{top}/software"},
    }.get(where, {})
    found = look(tmp_path, inside=[top] if where == "named" else [], variables=environ)
    finding = only(found)
    assert finding.prefix == str(prefix)
    assert (str(finding.version) if finding.version else None, finding.form) == (version, form)


def test_the_variables_of_easybuilds_modules(tmp_path: Path) -> None:
    prefix = fake_prefix(tmp_path / "sw/rocm", "6.2.2")
    put(tmp_path, "sw/hip/bin/hipcc", "")
    whole, part = look(tmp_path, EBROOTROCM=str(prefix), EBROOTHIP=f"{tmp_path}/sw/hip").findings
    assert (whole.form, whole.traces[0].told) == (Form.WHOLE, "EBROOTROCM")
    assert (part.form, part.traces[0].told) == (Form.PARTIAL, "EBROOTHIP")
