"""Canonical JSON: RFC 8785, with integers of any size kept exactly."""

import json
import math
import struct
from decimal import Decimal
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pyreplay.canonical import encode

# How fast values are made says nothing about the code, on a machine that does other things too.
patiently = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    # Beyond, a double without a fraction is written by its shortest digits, and these are another
    # integer than the double is.
    | st.floats(min_value=-(2**53), max_value=2**53)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=8,
)

# RFC 8785, appendix B: the bits of a double, and how it is written.
DOUBLES = [
    ("0000000000000000", "0"),
    ("8000000000000000", "0"),
    ("0000000000000001", "5e-324"),
    ("8000000000000001", "-5e-324"),
    ("7fefffffffffffff", "1.7976931348623157e+308"),
    ("ffefffffffffffff", "-1.7976931348623157e+308"),
    ("4340000000000000", "9007199254740992"),
    ("c340000000000000", "-9007199254740992"),
    ("4430000000000000", "295147905179352830000"),
    ("44b52d02c7e14af5", "9.999999999999997e+22"),
    ("44b52d02c7e14af6", "1e+23"),
    ("44b52d02c7e14af7", "1.0000000000000001e+23"),
    ("444b1ae4d6e2ef4e", "999999999999999700000"),
    ("444b1ae4d6e2ef4f", "999999999999999900000"),
    ("444b1ae4d6e2ef50", "1e+21"),
    ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
    ("3eb0c6f7a0b5ed8d", "0.000001"),
    ("41b3de4355555553", "333333333.3333332"),
    ("41b3de4355555554", "333333333.33333325"),
    ("41b3de4355555555", "333333333.3333333"),
    ("41b3de4355555556", "333333333.3333334"),
    ("41b3de4355555557", "333333333.33333343"),
    ("becbf647612f3696", "-0.0000033333333333333333"),
    ("43143ff3c1cb0959", "1424953923781206.2"),
]


@pytest.mark.parametrize(("bits", "written"), DOUBLES)
def test_doubles_are_written_as_rfc_8785_says(bits: str, written: str) -> None:
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    assert encode(value).decode() == written


def test_keys_are_sorted_by_utf_16() -> None:
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\x80", "\u00f6"]
    assert encode(dict.fromkeys(keys, 0)).decode() == (
        '{"\\r":0,"1":0,"\x80":0,"\u00f6":0,"\u20ac":0,"\U0001f600":0,"\ufb33":0}'
    )


def test_texts_are_escaped_as_little_as_possible() -> None:
    assert encode("€$\u000f\nA'B\"\\/\u007f\u2028").decode() == (
        '"€$\\u000f\\nA\'B\\"\\\\/\u007f\u2028"'
    )


def test_integers_of_any_size_are_exact() -> None:
    assert encode(2**53 + 1) == b"9007199254740993"
    assert encode(-(10**30) - 1) == b"-1000000000000000000000000000001"
    assert encode(10**6000 + 7) == b"1" + b"0" * 5999 + b"7"


@patiently
@given(VALUES)
def test_what_is_written_reads_back_as_the_same_value(value: Any) -> None:
    assert json.loads(encode(value)) == value
    assert encode(json.loads(encode(value))) == encode(value)


@patiently
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_lose_nothing(value: float) -> None:
    assert float(encode(value)) == value


@patiently
@given(st.integers(min_value=-(10**400), max_value=10**400))
def test_integers_lose_nothing(value: int) -> None:
    assert Decimal(encode(value).decode()) == value


@patiently
@given(st.dictionaries(TEXTS, VALUES, min_size=2, max_size=5), st.randoms())
def test_h1_the_order_of_keys_in_a_dict_does_not_matter(value: dict[str, Any], random: Any) -> None:
    keys = list(value)
    random.shuffle(keys)
    assert encode({key: value[key] for key in keys}) == encode(value)


@patiently
@given(st.dictionaries(TEXTS, VALUES, min_size=2, max_size=5), st.randoms())
def test_h1_the_order_of_keys_in_bytes_does(value: dict[str, Any], random: Any) -> None:
    keys = sorted(value)
    random.shuffle(keys)
    assume(keys != sorted(value))
    shuffled = json.dumps({key: value[key] for key in keys}).encode()
    ordered = json.dumps({key: value[key] for key in sorted(value)}).encode()
    assert sha256(shuffled).digest() != sha256(ordered).digest()


@patiently
@given(st.dictionaries(TEXTS, VALUES, max_size=5), TEXTS)
def test_h3_absent_and_null_are_two_values(value: dict[str, Any], key: str) -> None:
    assume(key not in value)
    assert sha256(encode(value)).digest() != sha256(encode({**value, key: None})).digest()


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -math.inf, "\ud800", {"\ud800": 0}, {1: 0}, {None: 0}, b"", {0}, object()],
    ids=repr,
)
def test_what_json_cannot_say_is_refused(value: Any) -> None:
    with pytest.raises(ValueError):
        encode(value)
    with pytest.raises(ValueError):
        encode([{"deep": value}])


def test_endless_nesting_is_refused() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(ValueError, match="nested"):
        encode(value)


def test_a_refusal_quotes_nothing() -> None:
    class Secret:
        def __repr__(self) -> str:
            return "4711"

    for value in (Secret(), {Secret(): 0}, "4711\ud800"):
        with pytest.raises(ValueError) as refusal:
            encode(value)
        assert "4711" not in str(refusal.value)
