"""The compiled loop of partition_lines.py, in its own module because importing numba takes 0.8 s.

Positions are indices in the bytes of the text. Each `_parse_...` and `_skip_...` function starts at a position and returns the position after
the part that it parsed or skipped, or -1 if the text does not have that part there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

_TAB, _NEWLINE, _RETURN, _SPACE, _COMMA, _MINUS, _DOT, _ZERO, _NINE, _UNDERSCORE = b"\t\n\r ,-.09_"
_MOST_BLANKS = 16  # in a gap between columns
_LONGEST_NAME = 249  # Topic.MAX_NAME_LENGTH
_MOST_DIGITS = 9  # a number with more digits may not fit into 32 bits
_TOPIC, _PARTITION, _LEADER = (np.frombuffer(word, dtype=np.uint8) for word in (b"Topic:", b"Partition:", b"Leader:"))
_REPLICAS, _ISR, _ADDING, _REMOVING = (
    np.frombuffer(word, dtype=np.uint8) for word in (b"Replicas:", b"Isr:", b"Adding Replicas:", b"Removing Replicas:")
)
_ELR, _LAST_KNOWN, _NONE, _NOT_AVAILABLE = (np.frombuffer(word, dtype=np.uint8) for word in (b"Elr:", b"LastKnownElr:", b"none", b" N/A"))

_RUN, _LINE, _START, _END, _NAME_START, _NAME_END = range(6)  # columns of a span

_loop = njit(cache=True, nogil=True)


@_loop
def _skip_word(data: Any, position: int, end: int, word: Any) -> int:
    if position + len(word) > end:
        return -1
    for i in range(len(word)):
        if data[position + i] != word[i]:
            return -1
    return position + len(word)


@_loop
def _skip_blanks(data: Any, position: int, end: int) -> int:
    """Skip any number of blanks, including none."""
    while position < end and (data[position] == _TAB or data[position] == _SPACE):
        position += 1
    return position


@_loop
def _skip_gap(data: Any, position: int, end: int) -> int:
    """Skip at least one blank, and at most _MOST_BLANKS."""
    next_position = _skip_blanks(data, position, end)
    return next_position if position < next_position <= position + _MOST_BLANKS else -1


@_loop
def _parse_number(data: Any, position: int, end: int) -> tuple[int, int]:
    """Parse a number. Return the position after it, and the number."""
    value, next_position = 0, position
    while next_position < end and _ZERO <= data[next_position] <= _NINE:
        value = value * 10 + (data[next_position] - _ZERO)
        next_position += 1
        if next_position - position > _MOST_DIGITS:
            return -1, 0
    return (next_position, value) if next_position > position else (-1, 0)


@_loop
def _parse_list(data: Any, position: int, end: int, ids: Any, count: int) -> tuple[int, int]:
    """Parse comma-separated numbers and the blanks around them. Return the position after them, and the new length of `ids`."""
    list_start = count
    next_position = _skip_blanks(data, position, end)
    if next_position > position + _MOST_BLANKS:
        return -1, count
    if next_position == end or not _ZERO <= data[next_position] <= _NINE:
        return next_position if next_position > position or next_position == end else -1, count
    while True:
        next_position, value = _parse_number(data, next_position, end)
        if next_position < 0:
            return -1, list_start
        for earlier in range(list_start, count):
            if ids[earlier] == value:
                return -1, list_start
        ids[count] = value
        count += 1
        if next_position == end or data[next_position] != _COMMA:
            break
        next_position += 1
    next_column = _skip_blanks(data, next_position, end)
    if next_column > next_position + _MOST_BLANKS or (next_column == next_position and next_column < end):
        return -1, list_start
    return next_column, count


@_loop
def _skip_name(data: Any, position: int, end: int) -> int:
    """Skip a topic name that Kafka allows."""
    next_position = position
    while next_position < end:
        byte = data[next_position]
        letter = 97 <= byte | 32 <= 122
        if not (letter or _ZERO <= byte <= _NINE or byte in (_DOT, _UNDERSCORE, _MINUS)):
            break
        next_position += 1
    length = next_position - position
    if length == 0 or length > _LONGEST_NAME or (length <= 2 and data[position] == _DOT and data[next_position - 1] == _DOT):
        return -1
    return next_position


@_loop
def _skip_label(data: Any, position: int, end: int, word: Any) -> int:
    """Skip a gap, a word, and one space if there is one."""
    position = _skip_gap(data, position, end)
    if position < 0:
        return -1
    position = _skip_word(data, position, end, word)
    return position + 1 if 0 <= position < end and data[position] == _SPACE else position


@_loop
def _parse_leader(data: Any, position: int, end: int) -> tuple[int, int]:
    """Parse a broker id, `none` or -1. Return the position after it, and the id or -1."""
    after_none = _skip_word(data, position, end, _NONE)
    if after_none >= 0:
        return after_none, -1
    if position + 2 < end and data[position] == _MINUS and data[position + 1] == _ZERO + 1:
        return position + 2, -1
    return _parse_number(data, position, end)


@_loop
def _parse_head(data: Any, position: int, end: int, span: Any, numbers: Any) -> int:
    """Parse topic, partition and leader, and skip the gap after them."""
    position = _skip_word(data, _skip_blanks(data, position, end), end, _TOPIC)
    if position < 0:
        return -1
    if position < end and data[position] == _SPACE:
        position += 1
    span[_NAME_START] = position
    position = _skip_name(data, position, end)
    if position < 0:
        return -1
    span[_NAME_END] = position
    position = _skip_label(data, position, end, _PARTITION)
    if position < 0:
        return -1
    position, numbers[0] = _parse_number(data, position, end)
    if position < 0:
        return -1
    position = _skip_label(data, position, end, _LEADER)
    if position < 0:
        return -1
    position, numbers[1] = _parse_leader(data, position, end)
    return position if position < 0 else _skip_gap(data, position, end)


@_loop
def _parse_labelled_list(data: Any, position: int, end: int, word: Any, ids: Any, count: int) -> tuple[int, int]:
    """Parse a column name and the list after it."""
    position = _skip_word(data, position, end, word)
    if position < 0:
        return -1, count
    return _parse_list(data, position, end, ids, count)


@_loop
def _parse_elr(data: Any, position: int, end: int, word: Any, last: bool, ids: Any, count: int) -> tuple[int, int, bool]:
    """Parse a column name and the list or N/A after it. Return also whether the list is known. Only the `last` column may end the line."""
    position = _skip_word(data, position, end, word)
    if position < 0:
        return -1, count, False
    next_position = _skip_word(data, position, end, _NOT_AVAILABLE)
    if next_position >= 0:
        return (end if last and next_position == end else _skip_gap(data, next_position, end)), count, False
    position, count = _parse_list(data, position, end, ids, count)
    return position, count, True


@_loop
def _parse_line(data: Any, position: int, end: int, ids: Any, count: int, span: Any, numbers: Any, list_starts: Any, is_known: Any) -> int:
    """Parse one line into the arrays. Return the new length of `ids`, or -1 if the loop cannot parse this line."""
    position = _parse_head(data, position, end, span, numbers)
    if position < 0:
        return -1
    is_known[:] = False
    list_starts[0] = count
    position, count = _parse_labelled_list(data, position, end, _REPLICAS, ids, count)
    if position < 0 or count == list_starts[0]:
        return -1
    list_starts[1] = count
    position, count = _parse_labelled_list(data, position, end, _ISR, ids, count)
    if position < 0:
        return -1
    is_known[0] = is_known[1] = True
    list_starts[2:] = count
    if position < end and data[position] == _ADDING[0]:
        position, count = _parse_labelled_list(data, position, end, _ADDING, ids, count)
        if position < 0:
            return -1
        list_starts[3] = count
        position, count = _parse_labelled_list(data, position, end, _REMOVING, ids, count)
        if position < 0:
            return -1
        is_known[2] = is_known[3] = True
        list_starts[4:] = count
    if position < end and data[position] == _ELR[0]:
        is_known[6] = True
        position, count, is_known[4] = _parse_elr(data, position, end, _ELR, False, ids, count)
        if position < 0:
            return -1
        list_starts[5] = count
        position, count, is_known[5] = _parse_elr(data, position, end, _LAST_KNOWN, True, ids, count)
        if position < 0:
            return -1
        list_starts[6] = count
    return count if position == end else -1


@_loop
def parse_lines(data: Any, lines: int, most_ids: int) -> Any:
    """Parse the partition lines of a text. Return their columns, and the spans of the other lines that are not blank.

    The columns of a span are: index of the run of lines with the same topic, line number, start and end of the line, start and end of the
    topic's name. The columns of another line's span are its line number, start and end.
    """
    spans = np.empty((lines, 6), dtype=np.int64)
    numbers = np.empty((lines, 2), dtype=np.int32)
    list_starts = np.empty((lines, 7), dtype=np.int64)
    is_known = np.empty((lines, 7), dtype=np.bool_)
    other_spans = np.empty((lines, 3), dtype=np.int64)
    ids = np.empty(most_ids, dtype=np.int32)
    parsed_count, other_count, id_count, start, line_number, run = 0, 0, 0, 0, 1, -1
    while start <= len(data):
        newline = start
        while newline < len(data) and data[newline] != _NEWLINE:
            newline += 1
        end = newline - 1 if newline > start and data[newline - 1] == _RETURN else newline
        new_id_count = _parse_line(
            data, start, end, ids, id_count, spans[parsed_count], numbers[parsed_count], list_starts[parsed_count], is_known[parsed_count]
        )
        if new_id_count >= 0:
            id_count = new_id_count
            span = spans[parsed_count]
            length = span[_NAME_END] - span[_NAME_START]
            same_topic = parsed_count > 0 and spans[parsed_count - 1, _NAME_END] - spans[parsed_count - 1, _NAME_START] == length
            if same_topic:
                previous_name_start = spans[parsed_count - 1, _NAME_START]
                for i in range(length):
                    if data[previous_name_start + i] != data[span[_NAME_START] + i]:
                        same_topic = False
                        break
            if not same_topic:
                run += 1
            span[_RUN], span[_LINE], span[_START], span[_END] = run, line_number, start, end
            parsed_count += 1
        elif _skip_blanks(data, start, end) < end:
            other_spans[other_count] = (line_number, start, end)
            other_count += 1
        start = newline + 1
        line_number += 1
    return (
        spans[:parsed_count],
        numbers[:parsed_count],
        list_starts[:parsed_count],
        is_known[:parsed_count],
        ids[:id_count],
        other_spans[:other_count],
    )
