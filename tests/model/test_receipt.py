"""Receipts and layouts: round trips, and that a damaged file is one clear error."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given

from rocmenv.errors import StoreError
from rocmenv.model.layout import Kind, Layout
from rocmenv.model.receipt import Item, Receipt
from rocmenv.model.version import Version
from tests.strategies import layouts


def receipt(layout: Layout) -> Receipt:
    return Receipt(
        version=Version.parse("6.3.0"),
        layout=layout,
        source="legacy",
        origin="https://x/apt",
        time="2026-01-01T00:00:00+00:00",
        made_by="0.1.0",
        prefix=None,
        items=(Item("hipcc6.3.0", "https://x/hipcc.deb", 12, "ab" * 32, "1.0"),),
        size=3,
        files=1,
        notes=("n",),
        unrelocated=("bin/x",),
        host=("libnuma1",),
    )


@given(layouts)
def test_a_receipt_is_what_it_renders(layout: Layout) -> None:
    whole = receipt(layout)
    assert Receipt.parse(whole.render(), "r") == whole


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"schema": 1}',
        '{"schema": "x"}',
        "\x00",
        '{"schema": 1, "version": "../x"}',
    ],
)
def test_anything_else_is_not_a_receipt(text: str) -> None:
    with pytest.raises(StoreError, match="r.json is not a receipt"):
        Receipt.parse(text, "r.json")


def test_a_prefix_inside_needs_a_rocmenv_that_knows_it() -> None:
    plain = receipt(Layout(Kind.WHEELS))
    inner = replace(plain, inner="lib/python3.12/site-packages/_rocm_sdk_devel")
    assert json.loads(plain.render())["schema"] == 1
    assert json.loads(inner.render())["schema"] == 2
    assert Receipt.parse(inner.render(), "r") == inner


@pytest.mark.parametrize("inner", ["..", "a/../b", "/usr", "a//b", "a/", ".", 7, None])
def test_a_prefix_inside_is_inside(inner: object) -> None:
    value = json.loads(receipt(Layout(Kind.WHEELS)).render())
    value["inner"] = inner
    with pytest.raises(StoreError, match="is not a path below the install"):
        Receipt.parse(json.dumps(value), "r")


def test_a_newer_receipt_asks_for_a_newer_rocmenv() -> None:
    value = json.loads(receipt(Layout(Kind.LEGACY)).render())
    value["schema"] = 99
    with pytest.raises(StoreError, match="newer rocmenv"):
        Receipt.parse(json.dumps(value), "r.json")


@pytest.mark.parametrize("place", ["/etc", "../up", "a/../../b"])
def test_a_layout_stays_below_its_prefix(place: str) -> None:
    value = json.loads(receipt(Layout(Kind.LEGACY)).render())
    value["layout"]["bins"] = [place]
    with pytest.raises(StoreError, match="below the prefix"):
        Receipt.parse(json.dumps(value), "r.json")


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("bins", "bin"),
        ("libs", "lib"),
        ("cmake", None),
        ("man", {"man": 1}),
        ("bins", ["bin", 1]),
        ("device_libs", ["a"]),
        ("icd", None),
    ],
)
def test_a_list_and_a_text_are_not_the_same(name: str, wrong: object) -> None:
    value = json.loads(receipt(Layout(Kind.LEGACY)).render())
    value["layout"][name] = wrong
    with pytest.raises(StoreError, match="r.json is not a receipt"):
        Receipt.parse(json.dumps(value), "r.json")


@pytest.mark.parametrize("name", ["notes", "unrelocated", "host"])
@pytest.mark.parametrize("wrong", ["text", None, [1]])
def test_a_list_of_texts_is_one(name: str, wrong: object) -> None:
    value = json.loads(receipt(Layout(Kind.LEGACY)).render())
    value[name] = wrong
    with pytest.raises(StoreError, match="is not a list of texts"):
        Receipt.parse(json.dumps(value), "r.json")
