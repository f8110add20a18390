"""The Hypothesis profile of all property tests."""

from hypothesis import settings


def test_no_property_test_has_a_deadline() -> None:
    """On a busy machine a correct example can take longer than any fixed limit."""
    assert settings().deadline is None
