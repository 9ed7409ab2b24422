"""What sources, environments and folders of other people may hold on purpose."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rocmenv.errors import StoreError
from rocmenv.model.version import Spec
from rocmenv.store import pins, registry
from rocmenv.store.paths import Root
from tests.builders import add, clean_environ, fake_prefix, root_with
from tests.shells.harness import STARTS, find


@pytest.mark.parametrize("kind", ["link to a file", "link to a folder", "a file", "a folder"])
def test_a_source_cannot_bring_a_receipt_or_a_link_in_its_place(tmp_path: Path, kind: str) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "receipt.json").write_text("precious")
    source = fake_prefix(tmp_path / "source", "6.3.0")
    ours = source / ".rocmenv"
    if kind == "link to a folder":
        ours.symlink_to(victim)
    elif kind == "a file":
        ours.write_text("x")
    else:
        ours.mkdir()
        if kind == "link to a file":
            (ours / "receipt.json").symlink_to(victim / "receipt.json")
        else:
            (ours / "receipt.json").mkdir()
    root = Root(tmp_path / "root")
    add(root, "6.3.0", source)
    assert (victim / "receipt.json").read_text() == "precious"
    assert [p.name for p in victim.iterdir()] == ["receipt.json"]
    assert registry.find(root, registry.versions(root)[0]).receipt.source == "local"
    assert not (root.versions / "6.3.0/.rocmenv").is_symlink()


@pytest.mark.parametrize("name", list(STARTS))
@pytest.mark.parametrize(
    "record",
    [
        "1|x|OPTIND|+x[$(touch PWNED)]|+1",
        "1|x|SECONDS|+x[$(touch PWNED)]|+1",
        "1|x|LD_PRELOAD|+/evil.so|-",
        "1|x|_rocmenv_r|+/evil|+{root}",
        "1|x|_rocmenv_s|+a|+",
        "1|x|ROCM_PATH|+$(touch PWNED)|-",
        "1|x|PATH",
        "1|",
        "2|x|PATH|-|-",
        "$(touch PWNED)",
    ],
)
def test_a_forged_record_sets_nothing_else_and_runs_nothing(
    tmp_path: Path, name: str, record: str
) -> None:
    shell = find(name)
    root = root_with(tmp_path, "6.3.0")
    environ = clean_environ(root, ROCMENV_DIFF=record.format(root=root.path))
    script = f"{shell.setup(root)}\nrocmenv use 6.3.0\nDUMP"
    ran = shell.run(script, environ, tmp_path, timeout=20)
    assert ran.dumps[0]["ROCM_PATH"] == str(root.versions / "6.3.0"), ran.err
    assert "LD_PRELOAD" not in ran.dumps[0]
    assert not (tmp_path / "PWNED").exists()


def test_a_pin_is_not_written_through_a_link_that_waits(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for number in range(os.getpid() - 1, os.getpid() + 2):
        (tmp_path / f"..rocm-version.{number}.tmp").symlink_to(victim)
    pins.write(tmp_path / ".rocm-version", Spec.parse("6.3.0"))
    assert victim.read_text() == "precious"
    assert (tmp_path / ".rocm-version").read_text() == "6.3.0\n"


def test_a_pin_that_is_a_link_stays_one_and_keeps_its_mode(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.write_text("6.2\n")
    real.chmod(0o640)
    (tmp_path / ".rocm-version").symlink_to("real")
    pins.write(tmp_path / ".rocm-version", Spec.parse("6.3.0"))
    assert (tmp_path / ".rocm-version").is_symlink()
    assert real.read_text() == "6.3.0\n"
    assert real.stat().st_mode & 0o777 == 0o640


def test_in_a_deleted_folder_no_pin_is_written_into_the_top_folder(tmp_path: Path) -> None:
    root = root_with(tmp_path, "6.3.0")
    gone = tmp_path / "gone"
    gone.mkdir()
    words = [sys.executable, "-m", "rocmenv", "local", "6.3.0"]
    done = subprocess.run(
        ["sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh", *words],
        env=clean_environ(root), cwd=gone, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "the current folder was deleted" in done.stderr
    assert not Path("/.rocm-version").exists()


@pytest.mark.parametrize("name", ["python", *(n for n in STARTS if n != "dash")])
@pytest.mark.parametrize(
    "content",
    [b"\0\0\n6.3.0\n", b"# x\n" * 40000 + b"6.3.0\n", b"6.3.0\n" * 20000],
    ids=["leading NULs", "too many comments", "too many lines"],
)
def test_a_pin_that_is_no_pin_never_gives_way_to_the_one_above(
    tmp_path: Path, name: str, content: bytes
) -> None:
    root = root_with(tmp_path, "6.3.0", "6.4.1")
    inner = tmp_path / "outer/inner"
    inner.mkdir(parents=True)
    (inner.parent / ".rocm-version").write_text("6.4.1\n")
    (inner / ".rocm-version").write_bytes(content)
    if name == "python":
        words = [sys.executable, "-m", "rocmenv", "version"]
        done = subprocess.run(
            words, env=clean_environ(root), cwd=inner, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (1, "")
        return
    shell = find(name)
    ran = shell.run(f"{shell.setup(root)}\n_rocmenv_hook\nDUMP", clean_environ(root), inner)
    assert "ROCM_PATH" not in ran.dumps[0]
    assert f"{inner}/.rocm-version, line" in ran.err


def test_fish_keeps_its_universal_variables(tmp_path: Path) -> None:
    shell = find("fish")
    root = root_with(tmp_path, "6.3.0")
    environ = clean_environ(root, XDG_CONFIG_HOME=str(tmp_path / "config"))

    # Universal variables are read with the user's configuration, which the harness leaves out.
    def fish(script: str) -> str:
        done = subprocess.run(
            ["fish", "-c", script], env=environ, cwd=tmp_path,
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    fish("set -Ux HIP_CLANG_PATH /mine; set -Ux HIP_COMPILER clang")
    show = 'env | string match "HIP_C*" | sort; echo =='
    out = fish(
        f"{shell.setup(root)}\n{show}\nrocmenv use 6.3.0 2>/dev/null\n{show}\n"
        f"rocmenv deactivate 2>/dev/null\n{show}"
    )
    start, active, back, _ = out.split("==\n")
    assert "HIP_CLANG_PATH=/mine" in start
    assert "HIP_CLANG_PATH=\n" in active
    assert "HIP_COMPILER=\n" in active
    assert back == start
    assert fish("echo $HIP_CLANG_PATH $HIP_COMPILER") == "/mine clang\n"


def test_a_config_that_is_no_file_is_refused_and_does_not_hang(tmp_path: Path) -> None:
    root = root_with(tmp_path, "6.3.0")
    os.mkfifo(root.config)
    done = subprocess.run(
        [sys.executable, "-m", "rocmenv", "config", "list"], env=clean_environ(root),
        capture_output=True, text=True, check=False, timeout=20,
    )  # fmt: skip
    assert done.returncode == 1
    assert "is not a file" in done.stderr


def test_an_install_tells_apart_a_missing_right_from_a_missing_command(tmp_path: Path) -> None:
    root = root_with(tmp_path, "6.3.0")
    (root.versions / "6.3.0/bin/hipcc").chmod(0o644)
    done = subprocess.run(
        [sys.executable, "-m", "rocmenv", "+6.3", "exec", "hipcc"], env=clean_environ(root),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 127
    assert "may not be started" in done.stderr


def test_writing_into_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be written"):
        pins.write(tmp_path / "no/such/.rocm-version", Spec.parse("6.3.0"))
