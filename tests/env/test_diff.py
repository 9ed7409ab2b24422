"""The diff as a value: its encoding, and that a foreign text is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmenv.env.diff import Change, EnvDiff, patched

texts = st.none() | st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]))
diffs = st.builds(
    EnvDiff,
    st.sampled_from(["6.3.0", "10.1.0a20260901", "6.3.0+x"]),
    st.lists(
        st.builds(
            Change, st.sampled_from(["PATH", "ROCM_PATH", "hip_DIR", "HIPCXX"]), texts, texts
        ),
        max_size=5,
    ).map(tuple),
)


@given(diffs)
def test_decode_is_the_inverse_of_encode(diff: EnvDiff) -> None:
    text = diff.encode()
    assert EnvDiff.decode(text) == diff
    assert "\n" not in text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "2|6.3.0",
        "1|6.3.0|A",
        "1|6.3.0|A|-",
        "1|6.3.0|A|x|-",
        "1|6.3.0|A B|-|-",
        "1|6.3.0|A;id|-|-",
        "1|6.3.0||-|-",
        "1|6.3.0|1A|-|-",
        "1|6.3.0|Ä|-|-",
        "1|6.3.0|OPTIND|+x|+1",
        "1|6.3.0|LD_PRELOAD|+x|-",
    ],
)
def test_a_text_that_is_no_record_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"record|name"):
        EnvDiff.decode(text)


def test_unset_and_empty_are_two_things() -> None:
    diff = EnvDiff("6.3.0", (Change("HIP_PATH", None, ""), Change("LLVM_PATH", "", None)))
    assert EnvDiff.decode(diff.encode()) == diff
    restored, kept = diff.undo({"HIP_PATH": ""})
    assert (restored, kept) == ({"HIP_PATH": None, "LLVM_PATH": ""}, [])
    assert patched({"HIP_PATH": ""}, restored) == {"LLVM_PATH": ""}
