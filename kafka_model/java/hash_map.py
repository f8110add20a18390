"""Hash codes, and the iteration order of java.util.HashMap and HashSet (OpenJDK 17), on which several of Kafka's answers depend.

A key is in bin `(hash ^ hash >>> 16) & (capacity - 1)`. Iteration goes bin by bin, and within a bin by insertion. A bin with nine or more
keys, in a table with a capacity of 64 or more, becomes a red-black tree, whose insertions change the order. The capacity doubles when
more than three quarters are full:

    >>> string_hash("orders"), string_hash("refunds")
    (-1008770331, 1085542395)
    >>> hash_map_order(["refunds", "orders", "audit"], string_hashes)
    ['audit', 'orders', 'refunds']

Keys with equal hashes that are not comparable (Kafka's TopicPartition and TopicIdPartition) are ordered by their memory addresses in a
tree. There Kafka's own answer is random, and the model puts the later key to the right.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

import numpy as np

Key = TypeVar("Key", bound=Hashable)

DEFAULT_CAPACITY = 16
_TREEIFY_THRESHOLD = 8
_UNTREEIFY_THRESHOLD = 6
_MIN_TREEIFY_CAPACITY = 64
_FEW_TEXTS = 32  # a loop over fewer texts is faster than numpy


def string_hash(text: str) -> int:
    """Compute String.hashCode of the UTF-16 code units: a signed 32-bit number."""
    units: Iterable[int] = text.encode("ascii") if text.isascii() else memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")
    code = 0
    for unit in units:
        code = 31 * code + unit & 0xFFFFFFFF
    return _signed(code)


def string_hashes(texts: Sequence[str]) -> list[int]:
    """Compute `string_hash` of many texts at once."""
    if len(texts) < _FEW_TEXTS:
        return [string_hash(text) for text in texts]
    positions_by_length: dict[int, list[int]] = {}
    units = [text.encode("utf-16-le", "surrogatepass") for text in texts]
    for position, encoded in enumerate(units):
        positions_by_length.setdefault(len(encoded) // 2, []).append(position)
    hashes = np.zeros(len(texts), np.uint32)
    for length, positions in positions_by_length.items():
        powers = np.cumprod(np.r_[np.uint32(1), np.full(max(length - 1, 0), 31, np.uint32)], dtype=np.uint32)[::-1]
        rows = np.frombuffer(b"".join(units[position] for position in positions), "<u2").reshape(len(positions), length)
        hashes[positions] = (rows * powers[:length]).sum(axis=1, dtype=np.uint32)
    signed: list[int] = hashes.view(np.int32).tolist()
    return signed


@lru_cache(maxsize=1 << 16)
def uuid_hash(topic_id: str) -> int:
    """Compute hashCode of org.apache.kafka.common.Uuid for a topic id as Kafka prints it (URL-safe base64)."""
    high, low = uuid_order(topic_id)
    xor = high ^ low
    return _signed((xor >> 32 ^ xor) & 0xFFFFFFFF)


def uuid_order(topic_id: str) -> tuple[int, int]:
    """Return the sort key of Uuid.compareTo: the two halves as signed 64-bit numbers."""
    raw = base64.urlsafe_b64decode(topic_id + "==")
    return int.from_bytes(raw[:8], signed=True), int.from_bytes(raw[8:], signed=True)


def string_order(text: str) -> bytes:
    """Return the sort key of String.compareTo: UTF-16 code units.

    Unlike in Python, characters beyond U+FFFF come before U+E000 to U+FFFF.
    """
    return text.encode("utf-16-be", "surrogatepass")


def table_size_for(entries: int) -> int:
    """Compute the capacity of `new HashMap<>(entries)`."""
    return 1 << max(entries - 1, 0).bit_length()


def copied_capacity(keys: int) -> int:
    """Compute the capacity of `new HashSet<>(collection)` for this number of keys."""
    return table_size_for(max(keys * 4 // 3 + 1, DEFAULT_CAPACITY))


def filled_capacity(keys: int, initial: int = DEFAULT_CAPACITY) -> int:
    """Compute the capacity of a map that started with `initial` and grew by one put per key."""
    capacity = initial
    while keys > capacity * 3 // 4:
        capacity *= 2
    return capacity


def hash_map_order(
    keys: Iterable[Key],
    hashes: Callable[[Sequence[Key]], Sequence[int]],
    *,
    initial: int = DEFAULT_CAPACITY,
    tie: Callable[[Key], Any] | None = None,
) -> list[Key]:
    """Order the distinct keys as iteration does after they are put one by one into a map with this initial capacity.

    `hashes` computes the hash codes of all keys. `tie` is the sort key of compareTo, for keys with equal hashes.
    """
    distinct = list(dict.fromkeys(keys))
    if len(distinct) < 2:
        return distinct
    codes = hashes(distinct)
    mask = filled_capacity(len(distinct), initial) - 1
    bins = [(code ^ (code & 0xFFFFFFFF) >> 16) & mask for code in codes]
    if may_have_tree(bins) and max(Counter(bins).values()) > _TREEIFY_THRESHOLD:
        table = HashTable(dict(zip(distinct, codes, strict=True)).__getitem__, initial=initial, tie=tie)
        for key in distinct:
            table.put(key)
        return list(table)
    return [distinct[position] for position in sorted(range(len(bins)), key=bins.__getitem__)]


def computed_order(calls: Iterable[Key], hashes: Callable[[Sequence[Key]], Sequence[int]], *, initial: int) -> list[Key]:
    """Order the keys as iteration does after these calls of computeIfAbsent on a map with this initial capacity."""
    calls = list(calls)
    keys = list(dict.fromkeys(calls))
    codes = np.array(hashes(keys), dtype=np.int64)
    bins = (codes ^ (codes & 0xFFFFFFFF) >> 16) & initial - 1
    if len(keys) > initial * 3 // 4 or (keys and np.bincount(bins).max() >= _TREEIFY_THRESHOLD):
        table = HashTable(dict(zip(keys, codes.tolist(), strict=True)).__getitem__, initial=initial)
        for key in calls:  # a call for an existing key can also make the table grow
            table.compute_if_absent(key)
        return list(table)
    newest_first = np.argsort(bins[::-1], kind="stable")  # a new key comes first in its bin
    return [keys[position] for position in (len(keys) - 1 - newest_first).tolist()]


def spread(code: int) -> int:
    """Compute the hash that HashMap uses (HashMap.hash). Its last bits are the bin."""
    code &= 0xFFFFFFFF
    return _signed(code ^ code >> 16)


def may_have_tree(bins: Sequence[int]) -> bool:
    """Return whether some bin may have more than eight keys, and so may be a tree. `bins` are those of the keys."""
    return len(bins) - len(set(bins)) >= _TREEIFY_THRESHOLD


def _signed(code: int) -> int:
    return code - 0x1_0000_0000 if code >= 0x8000_0000 else code


@dataclass(slots=True, eq=False)
class _Node(Generic[Key]):
    """A key of a table. Links and colour are used in tree bins only."""

    key: Key
    spread: int
    parent: _Node[Key] | None = None
    left: _Node[Key] | None = None
    right: _Node[Key] | None = None
    red: bool = False


class HashTable(Generic[Key]):
    """The keys of a HashMap or HashSet, with Java's insertion and removal."""

    __slots__ = ("_bins", "_hash_of", "_nodes", "_tie", "_trees", "capacity")

    def __init__(self, hash_of: Callable[[Key], int], *, initial: int = DEFAULT_CAPACITY, tie: Callable[[Key], Any] | None = None) -> None:
        self.capacity = initial
        self._hash_of = hash_of
        self._tie = tie
        self._nodes: dict[Key, _Node[Key]] = {}
        self._bins: dict[int, list[_Node[Key]]] = {}
        self._trees: dict[int, _Node[Key]] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[Key]:
        """Iterate over a copy of the keys, so that the loop may remove them."""
        return iter([node.key for index in sorted(self._bins) for node in self._bins[index]])

    def put(self, key: Key) -> None:
        """Add a key as HashMap.put and HashSet.add do: a new key comes last in its bin."""
        if key in self._nodes:
            return
        node, index = self._new(key)
        nodes = self._bins.setdefault(index, [])
        if index in self._trees:
            self._insert_into_tree(index, node)
        else:
            nodes.append(node)
            if len(nodes) > _TREEIFY_THRESHOLD:
                self._treeify_bin(index)
        if len(self._nodes) > self.capacity * 3 // 4:
            self._resize()

    def compute_if_absent(self, key: Key) -> None:
        """Add a key as HashMap.computeIfAbsent does: a new key comes first in its bin.

        The table grows before the insertion, one key later than with put.
        """
        if len(self._nodes) > self.capacity * 3 // 4:
            self._resize()
        if key in self._nodes:
            return
        node, index = self._new(key)
        nodes = self._bins.setdefault(index, [])
        if index in self._trees:
            self._insert_into_tree(index, node)
        else:
            nodes.insert(0, node)
            if len(nodes) >= _TREEIFY_THRESHOLD:
                self._treeify_bin(index)

    def discard(self, key: Key) -> None:
        """Remove a key as HashMap.remove does. The table never shrinks.

        Removal from a tree, which may move another key to the front of its bin, is not modelled.
        """
        node = self._nodes.pop(key, None)
        if node is None:
            return
        index = node.spread & self.capacity - 1
        self._trees.pop(index, None)
        self._bins[index].remove(node)
        if not self._bins[index]:
            del self._bins[index]

    def _new(self, key: Key) -> tuple[_Node[Key], int]:
        node = _Node(key, spread(self._hash_of(key)))
        self._nodes[key] = node
        return node, node.spread & self.capacity - 1

    def _resize(self) -> None:
        bins, trees = self._bins, self._trees
        self._bins, self._trees, self.capacity = {}, {}, self.capacity * 2
        for nodes in bins.values():
            for node in nodes:
                self._bins.setdefault(node.spread & self.capacity - 1, []).append(node)
        for index, root in trees.items():
            halves = [half for half in (index, index + self.capacity // 2) if half in self._bins]
            for half in halves:
                if len(self._bins[half]) > _UNTREEIFY_THRESHOLD:
                    if len(halves) > 1:
                        self._treeify(half)
                    else:
                        self._trees[half] = root

    def _treeify_bin(self, index: int) -> None:
        if self.capacity < _MIN_TREEIFY_CAPACITY:
            self._resize()
        else:
            self._treeify(index)

    def _treeify(self, index: int) -> None:
        nodes = self._bins[index]
        root = nodes[0]
        for node in nodes:
            node.parent = node.left = node.right = None
            node.red = node is not root
        for node in nodes[1:]:
            self._attach(root, node)
            root = _rebalance(root, node)
        self._root_to_front(index, root)

    def _insert_into_tree(self, index: int, node: _Node[Key]) -> None:
        """Insert a key as TreeNode.putTreeVal does: iteration yields it after its parent in the tree, and the root first."""
        parent = self._attach(self._trees[index], node)
        self._bins[index].insert(self._bins[index].index(parent) + 1, node)
        node.red = True
        self._root_to_front(index, _rebalance(self._trees[index], node))

    def _attach(self, root: _Node[Key], node: _Node[Key]) -> _Node[Key]:
        parent, below = root, root
        while True:
            parent, leftwards = below, self._goes_left(node, below)
            following = parent.left if leftwards else parent.right
            if following is None:
                break
            below = following
        node.parent = parent
        if leftwards:
            parent.left = node
        else:
            parent.right = node
        return parent

    def _goes_left(self, node: _Node[Key], other: _Node[Key]) -> bool:
        if node.spread != other.spread or self._tie is None:
            return node.spread < other.spread
        return bool(self._tie(node.key) < self._tie(other.key))

    def _root_to_front(self, index: int, root: _Node[Key]) -> None:
        self._trees[index] = root
        nodes = self._bins[index]
        nodes.remove(root)
        nodes.insert(0, root)


def _rebalance(root: _Node[Key], node: _Node[Key]) -> _Node[Key]:
    """Rebalance the red-black tree after the insertion of a red node, and return its root (TreeNode.balanceInsertion)."""
    while (parent := node.parent) is not None and parent.red and (grandparent := parent.parent) is not None:
        uncle = grandparent.right if parent is grandparent.left else grandparent.left
        if uncle is not None and uncle.red:
            uncle.red = parent.red = False
            grandparent.red = True
            node = grandparent
            continue
        inner = parent.right if parent is grandparent.left else parent.left
        if node is inner:
            root = _rotate(root, parent, leftwards=parent is grandparent.left)
            node, parent = parent, node
        parent.red = False
        grandparent.red = True
        root = _rotate(root, grandparent, leftwards=parent is grandparent.right)
    root.red = False
    return root


def _rotate(root: _Node[Key], node: _Node[Key], *, leftwards: bool) -> _Node[Key]:
    """Rotate the node to the left or right, so that its other child takes its place, and return the root of the tree."""
    child = node.right if leftwards else node.left
    if child is None:
        return root
    moved = child.left if leftwards else child.right
    if leftwards:
        node.right, child.left = moved, node
    else:
        node.left, child.right = moved, node
    if moved is not None:
        moved.parent = node
    child.parent = node.parent
    if node.parent is None:
        root = child
    elif node.parent.left is node:
        node.parent.left = child
    else:
        node.parent.right = child
    node.parent = child
    return root
