"""Canonical JSON: one way to write a value, so that equal values have equal bytes and digests.

RFC 8785 (JCS), except that integers of any size are written exactly instead of as doubles.
"""

import json
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

# Python refuses to print larger integers, because printing takes quadratic time.
PRINTABLE_BITS = 14_000


def encode(value: Any) -> bytes:
    """Encode dicts with text keys, lists, tuples, texts, numbers, booleans and None.

    Raises ValueError for what JSON cannot say: NaN, infinities, lone surrogates, other types, and
    nesting too deep to be read again. It never quotes the value.
    """
    try:
        return "".join(_parts(value)).encode()
    except UnicodeEncodeError:
        raise ValueError("a text holds a lone surrogate") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _parts(value: Any) -> Iterator[str]:
    match value:
        case None | True | False:
            yield {None: "null", True: "true", False: "false"}[value]
        case str():
            yield _text(value)
        case int():
            yield _integer(value)
        case float():
            yield _float(value)
        case dict():
            yield from _object(value)
        case list() | tuple():
            yield from _array(value)
        case _:
            raise ValueError(f"JSON has no {type(value).__name__}")


def _object(value: dict[Any, Any]) -> Iterator[str]:
    if not all(isinstance(key, str) for key in value):
        raise ValueError("a key is no text")
    separator = "{"
    for key in sorted(value, key=_utf_16):
        yield f"{separator}{_text(key)}:"
        yield from _parts(value[key])
        separator = ","
    yield "}" if value else "{}"


def _array(value: list[Any] | tuple[Any, ...]) -> Iterator[str]:
    separator = "["
    for element in value:
        yield separator
        yield from _parts(element)
        separator = ","
    yield "]" if value else "[]"


def _text(value: str) -> str:
    # With ensure_ascii off, json escapes exactly what RFC 8785 wants escaped, and in its form.
    return json.dumps(value, ensure_ascii=False)


def _utf_16(key: str) -> bytes:
    """What RFC 8785 sorts by: it differs from code points above U+FFFF."""
    return key.encode("utf-16-be")


def _integer(value: int) -> str:
    if value.bit_length() < PRINTABLE_BITS:
        return int.__repr__(value)
    return format(Decimal(value), "f")


def _float(value: float) -> str:
    """A double as ECMAScript's Number::toString writes it."""
    if not math.isfinite(value):
        raise ValueError("a number is not finite")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    # Python's repr is the shortest that reads back the same, as ECMAScript asks for.
    shortest = Decimal(float.__repr__(value)).normalize().as_tuple()
    digits = "".join(map(str, shortest.digits))
    # The value is 0.DIGITS times ten to the power of `point`.
    point = len(digits) + int(shortest.exponent)
    return sign + _place_point(digits, point)


def _place_point(digits: str, point: int) -> str:
    if len(digits) <= point <= 21:
        return digits.ljust(point, "0")
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{fraction}e{point - 1:+d}"
