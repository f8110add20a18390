from hypothesis import given
from hypothesis import strategies as st

from kafka_model.java.hash_map import string_hash, string_hashes


@given(st.lists(st.text()))
def test_string_hashes_equal_string_hash_of_each_text(texts: list[str]) -> None:
    assert string_hashes(texts) == [string_hash(text) for text in texts]
