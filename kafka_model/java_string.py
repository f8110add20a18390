"""Strings as Java orders and hashes them: by UTF-16 code unit, where Python goes by code point.

Names beyond U+FFFF are two surrogates (U+D800 to U+DFFF) to Java and so come before U+E000 to U+FFFF:

    >>> sorted(["\\uffee", "\\U0001f600"], key=utf16) == ["\\U0001f600", "\\uffee"]
    True
    >>> string_hash("orders")
    -1008770331
"""

from __future__ import annotations


def utf16(text: str) -> bytes:
    """The sort key that orders strings as String.compareTo does."""
    return text.encode("utf-16-be", "surrogatepass")


def string_hash(text: str) -> int:
    """String.hashCode: a signed 32-bit number."""
    units = utf16(text)
    code = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
    return code - (1 << 32) if code & 0x80000000 else code
