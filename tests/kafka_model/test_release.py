from __future__ import annotations

import pytest

from kafka_model.release import LATEST, RELEASES, Release, UnknownVersion, parse_release


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
