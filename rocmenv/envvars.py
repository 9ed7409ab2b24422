"""Every variable that rocmenv reads or writes for itself, each declared once.

The variables of ROCm that activation changes are in `rocmenv.env.family`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable: its name, what it does, and whether a person may set it."""

    name: str
    meaning: str
    public: bool = True


VARIABLES = (
    Variable("ROCM_ROOT", "the root: the folder that holds the installed versions"),
    Variable("ROCMENV_ROOT", "the root, where ROCM_ROOT is unset"),
    Variable("ROCMENV_VERSION", "the version to use in this shell, before any pin"),
    Variable("ROCMENV_MIRROR", "base address in place of AMD's, for releases up to 7.2"),
    Variable("ROCMENV_THEROCK_MIRROR", "the same for releases from 7.9 on"),
    Variable("ROCMENV_KEYRING", "file with the signing keys, in place of the channel's own"),
    Variable("ROCMENV_FINGERPRINT", "fingerprint of the key that signs, in place of the channel's"),
    Variable("ROCMENV_JOBS", "how many packages are unpacked at once"),
    Variable("ROCMENV_TARGETS", "the GPU targets that installs are for, such as gfx1100"),
    Variable("ROCMENV_SHARE", "how files that several installs have are kept once"),
    Variable("ROCMENV_TIMEOUT", "seconds to wait for a server"),
    Variable("ROCMENV_RETRIES", "how often to try again after a failure that may pass"),
    Variable("ROCMENV_RATE", "limit of bytes per second for all downloads, such as 10M"),
    Variable("ROCMENV_CONNECTIONS", "how many files are downloaded at once"),
    Variable("ROCMENV_PROXY", "proxy in place of https_proxy and the like; none for no proxy"),
    Variable("ROCMENV_CA", "file or folder with further certificates to trust"),
    Variable("ROCMENV_OFFLINE", "1: open no connection, use what is in the cache"),
    Variable("ROCMENV_TRACEBACK", "1: show where a failure that should not happen came from"),
    Variable("ROCMENV_DIFF", "record of the activation in this shell", public=False),
    Variable("ROCMENV_SHIM_ROOT", "the root of the shim or hook that calls", public=False),
    Variable("ROCMENV_SHIMS", "the shims that led here, against endless loops", public=False),
)
