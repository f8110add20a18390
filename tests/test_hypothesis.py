"""The profile that every property test runs with."""

from hypothesis import settings


def test_no_property_test_has_a_deadline() -> None:
    """On a busy machine a correct example can take longer than any fixed limit."""
    assert settings().deadline is None
