"""The tables of GPU targets that come with rocmenv, `rocmenv/data/gpus.json`."""

from __future__ import annotations

import functools
import json
from pathlib import Path

from rocmenv.model.gpus import Gpus

_FILE = Path(__file__).parent.parent / "data" / "gpus.json"


@functools.cache
def load() -> Gpus:
    """The tables, read once."""
    return Gpus.from_json(json.loads(_FILE.read_text(encoding="utf-8")))
