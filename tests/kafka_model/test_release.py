from __future__ import annotations

import pytest

from kafka_model.release import LATEST, RELEASES, Release, UnknownVersion, parse_metadata_version, parse_release


def test_the_newest_modelled_release_is_4_4() -> None:
    assert str(LATEST) == "4.4.0"
    assert max(RELEASES) == LATEST


@pytest.mark.parametrize(("text", "numbers"), [("2.0.0", (2, 0, 0)), ("3.9", (3, 9, 2)), ("4.1.0", (4, 1, 0)), ("4.1", (4, 1, 2))])
def test_text_without_a_patch_means_the_newest_patch(text: str, numbers: tuple[int, int, int]) -> None:
    assert parse_release(text) == Release(*numbers)


@pytest.mark.parametrize(
    "text",
    [
        "9.9",
        "0.10",
        "1.1.1",
        "4.3-rc0",
        "4.3.0-rc0",
        "4.4.1",
        "4.1.3",
        "4.5.0",
        "3.10",
        "4",
        "",
        "v4.1.0",
        "4.1.0 ",
        "04.1",
        "4.1.\u0660",
        "latest",
    ],
)
def test_an_unknown_or_future_version_is_one_named_error(text: str) -> None:
    with pytest.raises(UnknownVersion, match=r"is not modelled: use an existing release from 2\.0\.0 to 4\.4\.0$") as refused:
        parse_release(text)
    assert str(refused.value).startswith(f"Kafka {text} ")


def test_a_release_that_does_not_exist_cannot_be_created() -> None:
    with pytest.raises(UnknownVersion, match=r"Kafka 4\.1\.3 is not modelled"):
        Release(4, 1, 3)


def test_releases_are_in_order_and_every_patch_of_a_minor_release_is_listed() -> None:
    assert list(RELEASES) == sorted(set(RELEASES))
    assert Release(4, 0, 2) < Release(4, 1, 0) < Release(4, 1, 1)
    assert list(map(str, Release(4, 1, 1).patches)) == ["4.1.0", "4.1.1", "4.1.2"]


def test_a_metadata_version_is_that_of_its_level() -> None:
    """The names in the order of their levels, from 1, as MetadataVersion of Kafka 3.6.0 and 4.4.0 declares them."""
    internal_versions = {
        "3.0": (1,), "3.1": (0,), "3.2": (0,), "3.3": (0, 1, 2, 3), "3.4": (0,), "3.5": (0, 1, 2), "3.6": (0, 1, 2), "3.7": (0, 1, 2, 3, 4),
        "3.8": (0,), "3.9": (0,), "4.0": (0, 1, 2, 3), "4.1": (0, 1), "4.2": (0, 1), "4.3": (0,), "4.4": (0, 1, 2),
    }  # fmt: skip
    names = [(minor, f"{minor}-IV{number}") for minor, numbers in internal_versions.items() for number in numbers]
    for level, (minor, name) in enumerate(names, start=1):
        assert parse_metadata_version(str(level)) == parse_metadata_version(name) == parse_release(minor)


@pytest.mark.parametrize("text", ["0", "34", "4.5-IV0", "4.1", "4.1.0", "-", ""])
def test_an_unknown_metadata_version_is_the_same_error(text: str) -> None:
    with pytest.raises(UnknownVersion):
        parse_metadata_version(text)
