"""The key that a channel's signatures are checked with: an address, or a file of the user's."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from rocmenv.errors import SignatureError
from rocmenv.fetch.connection import shown
from rocmenv.fetch.transfer import NotThereError

if TYPE_CHECKING:
    from rocmenv.sources.remembered import Remembered


def read_keyring(place: str, downloads: Remembered) -> bytes:
    """The certificates at `place`, an address or a path; raises `SignatureError`."""
    try:
        if "://" in place:
            return downloads.read(place, limit=1 << 20)
        return Path(os.path.expanduser(place)).read_bytes()
    except OSError as error:
        msg = f"the keyring {shown(place)} cannot be read ({error.strerror})"
        raise SignatureError(msg, hint="name the file with the keys: `--keyring FILE`") from error
    except NotThereError as error:
        downloads.refuse_if_offline(error)
        msg = f"the signing key {shown(place)} is not there, so nothing can be verified"
        raise SignatureError(msg, hint="name a copy of the key: `--keyring FILE`") from error
