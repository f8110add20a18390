"""The compiled loops of partition_lines.py. A module of their own, since importing numba takes 0.8 s.

Positions are indices of the bytes; a parser answers the position behind what it read, or -1 if that is not there.
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
_ELR, _LAST_KNOWN, _NONE, _UNTOLD = (np.frombuffer(word, dtype=np.uint8) for word in (b"Elr:", b"LastKnownElr:", b"none", b" N/A"))

_loop = njit(cache=True, nogil=True)


@_loop
def _word(data: Any, at: int, end: int, word: Any) -> int:
    if at + len(word) > end:
        return -1
    for i in range(len(word)):
        if data[at + i] != word[i]:
            return -1
    return at + len(word)


@_loop
def _blanks(data: Any, at: int, end: int) -> int:
    """Behind the blanks, which may be none."""
    while at < end and (data[at] == _TAB or data[at] == _SPACE):
        at += 1
    return at


@_loop
def _gap(data: Any, at: int, end: int) -> int:
    """Behind one blank or more, and no more than a gap may have."""
    behind = _blanks(data, at, end)
    return behind if at < behind <= at + _MOST_BLANKS else -1


@_loop
def _number(data: Any, at: int, end: int) -> tuple[int, int]:
    """The number as well."""
    value, behind = 0, at
    while behind < end and _ZERO <= data[behind] <= _NINE:
        value = value * 10 + (data[behind] - _ZERO)
        behind += 1
        if behind - at > _MOST_DIGITS:
            return -1, 0
    return (behind, value) if behind > at else (-1, 0)


@_loop
def _list(data: Any, at: int, end: int, ids: Any, count: int) -> tuple[int, int]:
    """Behind the blanks, the numbers with commas between them and the blanks after them, and how many ids there are then."""
    first = count
    behind = _blanks(data, at, end)
    if behind > at + _MOST_BLANKS:
        return -1, count
    if behind == end or not _ZERO <= data[behind] <= _NINE:
        return behind if behind > at or behind == end else -1, count
    while True:
        behind, value = _number(data, behind, end)
        if behind < 0:
            return -1, first
        for before in range(first, count):
            if ids[before] == value:
                return -1, first
        ids[count] = value
        count += 1
        if behind == end or data[behind] != _COMMA:
            break
        behind += 1
    after = _blanks(data, behind, end)
    if after > behind + _MOST_BLANKS or (after == behind and after < end):
        return -1, first
    return after, count


@_loop
def _name(data: Any, at: int, end: int) -> int:
    """Behind the name of a topic."""
    behind = at
    while behind < end:
        byte = data[behind]
        letter = 97 <= byte | 32 <= 122
        if not (letter or _ZERO <= byte <= _NINE or byte in (_DOT, _UNDERSCORE, _MINUS)):
            break
        behind += 1
    length = behind - at
    if length == 0 or length > _LONGEST_NAME or (length <= 2 and data[at] == _DOT and data[behind - 1] == _DOT):
        return -1
    return behind


@_loop
def _after_word(data: Any, at: int, end: int, word: Any) -> int:
    """Behind a gap, the word and one space, if there is one."""
    at = _gap(data, at, end)
    if at < 0:
        return -1
    at = _word(data, at, end, word)
    return at + 1 if 0 <= at < end and data[at] == _SPACE else at


@_loop
def _line(data: Any, at: int, end: int, ids: Any, count: int, span: Any, numbers: Any, lists: Any, told: Any) -> int:
    """Read one line into these; how many ids there are then, or -1 if the line is none that is taken."""
    at = _word(data, _blanks(data, at, end), end, _TOPIC)
    if at < 0:
        return -1
    if at < end and data[at] == _SPACE:
        at += 1
    span[4] = at
    at = _name(data, at, end)
    if at < 0:
        return -1
    span[5] = at
    at = _after_word(data, at, end, _PARTITION)
    if at < 0:
        return -1
    at, numbers[0] = _number(data, at, end)
    if at < 0:
        return -1
    at = _after_word(data, at, end, _LEADER)
    if at < 0:
        return -1
    numbers[1] = -1
    none = _word(data, at, end, _NONE)
    if none >= 0:
        at = none
    elif at + 2 < end and data[at] == _MINUS and data[at + 1] == _ZERO + 1:
        at += 2
    else:
        at, numbers[1] = _number(data, at, end)
        if at < 0:
            return -1
    at = _gap(data, at, end)
    if at < 0:
        return -1
    told[:] = False
    lists[0] = count
    at = _word(data, at, end, _REPLICAS)
    if at < 0:
        return -1
    at, count = _list(data, at, end, ids, count)
    if at < 0 or count == lists[0]:
        return -1
    told[0] = True
    lists[1] = count
    at = _word(data, at, end, _ISR)
    if at < 0:
        return -1
    at, count = _list(data, at, end, ids, count)
    if at < 0:
        return -1
    told[1] = True
    lists[2:] = count
    if at < end and data[at] == _ADDING[0]:
        at = _word(data, at, end, _ADDING)
        if at < 0:
            return -1
        at, count = _list(data, at, end, ids, count)
        if at < 0:
            return -1
        lists[3] = count
        at = _word(data, at, end, _REMOVING)
        if at < 0:
            return -1
        at, count = _list(data, at, end, ids, count)
        if at < 0:
            return -1
        told[2] = told[3] = True
        lists[4:] = count
    if at < end and data[at] == _ELR[0]:
        at = _word(data, at, end, _ELR)
        if at < 0:
            return -1
        told[6] = True
        untold = _word(data, at, end, _UNTOLD)
        if untold >= 0:
            at = _gap(data, untold, end)
        else:
            at, count = _list(data, at, end, ids, count)
            told[4] = True
        if at < 0:
            return -1
        lists[5] = count
        at = _word(data, at, end, _LAST_KNOWN)
        if at < 0:
            return -1
        untold = _word(data, at, end, _UNTOLD)
        if untold >= 0:
            at = end if untold == end else _gap(data, untold, end)
        else:
            at, count = _list(data, at, end, ids, count)
            told[5] = True
        if at < 0:
            return -1
        lists[6] = count
    return count if at == end else -1


@_loop
def take(data: Any, lines: int, most_ids: int) -> Any:
    """What partition_lines.read says. A span: topic's run, line number, start, end, start and end of the topic's name."""
    spans = np.empty((lines, 6), dtype=np.int64)
    numbers = np.empty((lines, 2), dtype=np.int32)
    lists = np.empty((lines, 7), dtype=np.int64)
    told = np.empty((lines, 7), dtype=np.bool_)
    others = np.empty((lines, 3), dtype=np.int64)
    ids = np.empty(most_ids, dtype=np.int32)
    taken, left, count, start, line, run = 0, 0, 0, 0, 1, -1
    while start <= len(data):
        newline = start
        while newline < len(data) and data[newline] != _NEWLINE:
            newline += 1
        end = newline - 1 if newline > start and data[newline - 1] == _RETURN else newline
        after = _line(data, start, end, ids, count, spans[taken], numbers[taken], lists[taken], told[taken])
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
        elif _blanks(data, start, end) < end:
            others[left] = (line, start, end)
            left += 1
        start = newline + 1
        line += 1
    return spans[:taken], numbers[:taken], lists[:taken], told[:taken], ids[:count], others[:left]


@_loop
def gather(starts: Any, ends: Any, ids: Any, in_order: bool) -> Any:
    """The offsets and values of a list of each line."""
    offsets = np.zeros(len(starts) + 1, dtype=np.int32)
    for row in range(len(starts)):
        offsets[row + 1] = offsets[row] + (ends[row] - starts[row])
    values = np.empty(offsets[-1], dtype=np.int32)
    for row in range(len(starts)):
        first = offsets[row]
        for i in range(ends[row] - starts[row]):
            value, place = ids[starts[row] + i], first + i
            while in_order and place > first and values[place - 1] > value:
                values[place] = values[place - 1]
                place -= 1
            values[place] = value
    return offsets, values


@_loop
def explode(lists: Any, ids: Any) -> Any:
    """What PartitionLines.replicas says."""
    total = 0
    for row in range(len(lists)):
        total += lists[row, 1] - lists[row, 0]
    rows, brokers, places = np.empty(total, dtype=np.int32), np.empty(total, dtype=np.int32), np.empty(total, dtype=np.int32)
    in_sync = np.empty(total, dtype=np.bool_)
    end = 0
    for row in range(len(lists)):
        first = end
        for index in range(lists[row, 1] - lists[row, 0]):
            broker, place = ids[lists[row, 0] + index], end
            while place > first and brokers[place - 1] > broker:
                brokers[place], places[place] = brokers[place - 1], places[place - 1]
                place -= 1
            brokers[place], places[place] = broker, index
            end += 1
        for place in range(first, end):
            rows[place] = row
            in_sync[place] = False
            for member in range(lists[row, 1], lists[row, 2]):
                if ids[member] == brokers[place]:
                    in_sync[place] = True
                    break
    return rows, brokers, places, in_sync
