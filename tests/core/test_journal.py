"""A lock between processes: it names who has it, and no killed process keeps it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kibitz.core.errors import FileError, InputError
from kibitz.core.journal import with_lock

HOLD = """
import sys, time
from kibitz.core.journal import with_lock
with with_lock(sys.argv[1], "labelling"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_process_is_refused_until_the_first_has_ended(tmp_path: Path) -> None:
    first = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE)
    assert first.stdout is not None
    assert first.stdout.readline() == b"held\n"
    said = rf"another labelling is running here \(process {first.pid}\).*{tmp_path.name}.*wait"
    with pytest.raises(InputError, match=said), with_lock(tmp_path, "training"):
        pytest.fail("held by two")
    first.kill()
    first.wait()
    first.stdout.close()
    with with_lock(tmp_path, "training"):
        pass
    with with_lock(tmp_path, "labelling"):
        pass


FULL = """
import resource, sys
from kibitz.core.errors import FileError
from kibitz.core.journal import with_lock
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
try:
    with with_lock(sys.argv[1], "labelling"):
        pass
except FileError as error:
    print(error)
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no limit for the size of files")
def test_where_nothing_can_be_written_the_file_is_named(tmp_path: Path) -> None:
    words = [sys.executable, "-c", FULL, str(tmp_path)]
    told = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "cannot write (File too large)" in told.stdout
    assert ".lock" in told.stdout


def test_where_there_is_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with with_lock(tmp_path / "new" / "folder", "labelling"):
        assert (tmp_path / "new" / "folder").is_dir()
    with with_lock("memory://somewhere", "labelling"):
        assert "no locks behind a URL" in capsys.readouterr().err
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="cannot write"), with_lock(tmp_path / "file", "labelling"):
        pytest.fail("locked a file")
