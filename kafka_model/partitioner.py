def murmur2(key: bytes) -> int:
    """The hash of a key's bytes, as Utils.murmur2 gives it: a signed 32-bit number."""
    length = len(key)
    h = 0x9747B28C ^ length
    for start in range(0, length & ~3, 4):
        k = int.from_bytes(key[start : start + 4], "little") * 0x5BD1E995 & 0xFFFFFFFF
        k = (k ^ k >> 24) * 0x5BD1E995 & 0xFFFFFFFF
        h = (h * 0x5BD1E995 & 0xFFFFFFFF) ^ k
    if length & 3:
        h = (h ^ int.from_bytes(key[length & ~3 :], "little")) * 0x5BD1E995 & 0xFFFFFFFF
    h = (h ^ h >> 13) * 0x5BD1E995 & 0xFFFFFFFF
    h ^= h >> 15
    return h - (1 << 32) if h & 0x80000000 else h


def to_positive(number: int) -> int:
    """The number without its sign bit: not the absolute value."""
    return number & 0x7FFFFFFF
