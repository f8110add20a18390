"""The compiled loop of partition_lines.py; a module of its own, because importing numba takes 0.8 s.

Positions are indices of the bytes. Each `_parse_...` and `_skip_...` function returns the position after what it read, or -1 if that is not
there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

_TAB, _NEWLINE, _RETURN, _SPACE, _COMMA, _MINUS, _DOT, _ZERO, _NINE, _UNDERSCORE = b"\t\n\r ,-.09_"
_MOST_BLANKS = 16  # of a gap
_LONGEST_NAME = 249  # of a topic
_MOST_DIGITS = 9  # of a number that surely fits
_TOPIC, _PARTITION, _LEADER = (np.frombuffer(word, dtype=np.uint8) for word in (b"Topic:", b"Partition:", b"Leader:"))
_REPLICAS, _ISR, _ADDING, _REMOVING = (
    np.frombuffer(word, dtype=np.uint8) for word in (b"Replicas:", b"Isr:", b"Adding Replicas:", b"Removing Replicas:")
)
_ELR, _LAST_KNOWN, _NONE, _NOT_AVAILABLE = (np.frombuffer(word, dtype=np.uint8) for word in (b"Elr:", b"LastKnownElr:", b"none", b" N/A"))

_loop = njit(cache=True, nogil=True)


@_loop
def _skip_word(data: Any, at: int, end: int, word: Any) -> int:
    if at + len(word) > end:
        return -1
    for i in range(len(word)):
        if data[at + i] != word[i]:
            return -1
    return at + len(word)


@_loop
def _skip_blanks(data: Any, at: int, end: int) -> int:
    """Skip any number of blanks, also none."""
    while at < end and (data[at] == _TAB or data[at] == _SPACE):
        at += 1
    return at


@_loop
def _skip_gap(data: Any, at: int, end: int) -> int:
    """Skip at least one blank, and at most _MOST_BLANKS."""
    after = _skip_blanks(data, at, end)
    return after if at < after <= at + _MOST_BLANKS else -1


@_loop
def _parse_number(data: Any, at: int, end: int) -> tuple[int, int]:
    """Parse a number; returns the position after it, and the number."""
    value, after = 0, at
    while after < end and _ZERO <= data[after] <= _NINE:
        value = value * 10 + (data[after] - _ZERO)
        after += 1
        if after - at > _MOST_DIGITS:
            return -1, 0
    return (after, value) if after > at else (-1, 0)


@_loop
def _parse_list(data: Any, at: int, end: int, ids: Any, count: int) -> tuple[int, int]:
    """Parse comma-separated numbers with the blanks around them; returns the position after them, and the new length of `ids`."""
    first = count
    after = _skip_blanks(data, at, end)
    if after > at + _MOST_BLANKS:
        return -1, count
    if after == end or not _ZERO <= data[after] <= _NINE:
        return after if after > at or after == end else -1, count
    while True:
        after, value = _parse_number(data, after, end)
        if after < 0:
            return -1, first
        for before in range(first, count):
            if ids[before] == value:
                return -1, first
        ids[count] = value
        count += 1
        if after == end or data[after] != _COMMA:
            break
        after += 1
    next_column = _skip_blanks(data, after, end)
    if next_column > after + _MOST_BLANKS or (next_column == after and next_column < end):
        return -1, first
    return next_column, count


@_loop
def _skip_name(data: Any, at: int, end: int) -> int:
    """Skip the name of a topic."""
    after = at
    while after < end:
        byte = data[after]
        letter = 97 <= byte | 32 <= 122
        if not (letter or _ZERO <= byte <= _NINE or byte in (_DOT, _UNDERSCORE, _MINUS)):
            break
        after += 1
    length = after - at
    if length == 0 or length > _LONGEST_NAME or (length <= 2 and data[at] == _DOT and data[after - 1] == _DOT):
        return -1
    return after


@_loop
def _skip_label(data: Any, at: int, end: int, word: Any) -> int:
    """Skip a gap, a word, and one space if there is one."""
    at = _skip_gap(data, at, end)
    if at < 0:
        return -1
    at = _skip_word(data, at, end, word)
    return at + 1 if 0 <= at < end and data[at] == _SPACE else at


@_loop
def _parse_leader(data: Any, at: int, end: int) -> tuple[int, int]:
    """Parse a broker id, `none` or -1; returns the position after it, and the id or -1."""
    none = _skip_word(data, at, end, _NONE)
    if none >= 0:
        return none, -1
    if at + 2 < end and data[at] == _MINUS and data[at + 1] == _ZERO + 1:
        return at + 2, -1
    return _parse_number(data, at, end)


@_loop
def _parse_head(data: Any, at: int, end: int, span: Any, numbers: Any) -> int:
    """Parse topic, partition and leader, up to the gap after them."""
    at = _skip_word(data, _skip_blanks(data, at, end), end, _TOPIC)
    if at < 0:
        return -1
    if at < end and data[at] == _SPACE:
        at += 1
    span[4] = at
    at = _skip_name(data, at, end)
    if at < 0:
        return -1
    span[5] = at
    at = _skip_label(data, at, end, _PARTITION)
    if at < 0:
        return -1
    at, numbers[0] = _parse_number(data, at, end)
    if at < 0:
        return -1
    at = _skip_label(data, at, end, _LEADER)
    if at < 0:
        return -1
    at, numbers[1] = _parse_leader(data, at, end)
    return at if at < 0 else _skip_gap(data, at, end)


@_loop
def _parse_labelled_list(data: Any, at: int, end: int, word: Any, ids: Any, count: int) -> tuple[int, int]:
    """Parse a word and the list after it."""
    at = _skip_word(data, at, end, word)
    if at < 0:
        return -1, count
    return _parse_list(data, at, end, ids, count)


@_loop
def _parse_elr(data: Any, at: int, end: int, word: Any, last: bool, ids: Any, count: int) -> tuple[int, int, bool]:
    """Parse a word and the list or N/A after it; returns also whether the list is known. Only the `last` column may end the line."""
    at = _skip_word(data, at, end, word)
    if at < 0:
        return -1, count, False
    after = _skip_word(data, at, end, _NOT_AVAILABLE)
    if after >= 0:
        return (end if last and after == end else _skip_gap(data, after, end)), count, False
    at, count = _parse_list(data, at, end, ids, count)
    return at, count, True


@_loop
def _parse_line(data: Any, at: int, end: int, ids: Any, count: int, span: Any, numbers: Any, lists: Any, known: Any) -> int:
    """Parse one line into the arrays; returns the new length of `ids`, or -1 if this is not a line that the loop reads."""
    at = _parse_head(data, at, end, span, numbers)
    if at < 0:
        return -1
    known[:] = False
    lists[0] = count
    at, count = _parse_labelled_list(data, at, end, _REPLICAS, ids, count)
    if at < 0 or count == lists[0]:
        return -1
    lists[1] = count
    at, count = _parse_labelled_list(data, at, end, _ISR, ids, count)
    if at < 0:
        return -1
    known[0] = known[1] = True
    lists[2:] = count
    if at < end and data[at] == _ADDING[0]:
        at, count = _parse_labelled_list(data, at, end, _ADDING, ids, count)
        if at < 0:
            return -1
        lists[3] = count
        at, count = _parse_labelled_list(data, at, end, _REMOVING, ids, count)
        if at < 0:
            return -1
        known[2] = known[3] = True
        lists[4:] = count
    if at < end and data[at] == _ELR[0]:
        known[6] = True
        at, count, known[4] = _parse_elr(data, at, end, _ELR, False, ids, count)
        if at < 0:
            return -1
        lists[5] = count
        at, count, known[5] = _parse_elr(data, at, end, _LAST_KNOWN, True, ids, count)
        if at < 0:
            return -1
        lists[6] = count
    return count if at == end else -1


@_loop
def parse_lines(data: Any, lines: int, most_ids: int) -> Any:
    """Split a text into the partition lines that this loop reads, and the position of every other line that is not blank.

    A span has the number of the run of lines of one topic, the line number, start and end of the line, start and end of the topic's name.
    """
    spans = np.empty((lines, 6), dtype=np.int64)
    numbers = np.empty((lines, 2), dtype=np.int32)
    lists = np.empty((lines, 7), dtype=np.int64)
    known = np.empty((lines, 7), dtype=np.bool_)
    others = np.empty((lines, 3), dtype=np.int64)
    ids = np.empty(most_ids, dtype=np.int32)
    taken, left, count, start, line, run = 0, 0, 0, 0, 1, -1
    while start <= len(data):
        newline = start
        while newline < len(data) and data[newline] != _NEWLINE:
            newline += 1
        end = newline - 1 if newline > start and data[newline - 1] == _RETURN else newline
        after = _parse_line(data, start, end, ids, count, spans[taken], numbers[taken], lists[taken], known[taken])
        if after >= 0:
            count = after
            span = spans[taken]
            length = span[5] - span[4]
            same = taken > 0 and spans[taken - 1, 5] - spans[taken - 1, 4] == length
            if same:
                before = spans[taken - 1, 4]
                for i in range(length):
                    if data[before + i] != data[span[4] + i]:
                        same = False
                        break
            if not same:
                run += 1
            span[0], span[1], span[2], span[3] = run, line, start, end
            taken += 1
        elif _skip_blanks(data, start, end) < end:
            others[left] = (line, start, end)
            left += 1
        start = newline + 1
        line += 1
    return spans[:taken], numbers[:taken], lists[:taken], known[:taken], ids[:count], others[:left]
