"""The tests' own rights: what they open for other users, and what they leave as it is."""

from __future__ import annotations

import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.runner import REPOSITORY
from tests.store.nobody import IS_ROOT

LET_IN = """
import sys
from pathlib import Path
import pytest
from tests.store.nobody import let_in
folder = Path(sys.argv[1])
try:
    let_in(folder)
except pytest.skip.Exception as reason:
    print(reason)
for path in (folder, folder.parent, folder.parent.parent):
    print(oct(path.stat().st_mode & 0o777))
"""


@pytest.fixture
def private() -> Iterator[Path]:
    """A folder that pytest has not made, in one that others may pass."""
    with tempfile.TemporaryDirectory() as folder:
        if not all(path.stat().st_mode & stat.S_IXOTH for path in Path(folder).parents):
            pytest.skip("the folder for temporary files is private")
        yield Path(folder)


@pytest.mark.skipif(not IS_ROOT, reason="only root has folders to let others into")
@pytest.mark.parametrize("above", [0o711, 0o700])
def test_others_pass_to_a_tests_folder_and_no_further(private: Path, above: int) -> None:
    """For as long as the tests run, and never by a folder that pytest has not made."""
    folder = private / "base/test0"
    folder.mkdir(parents=True)
    path = [folder, folder.parent, private]
    for place, mode in zip(path, (0o700, 0o700, above), strict=True):
        place.chmod(mode)
    done = subprocess.run(
        [sys.executable, "-c", LET_IN, str(folder)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    expected = {
        0o711: "0o701\n0o701\n0o711\n",
        0o700: f"other users may not pass {private}\n0o700\n0o700\n0o700\n",
    }
    assert done.stdout == expected[above]
    assert [place.stat().st_mode & 0o777 for place in path] == [0o700, 0o700, above]
