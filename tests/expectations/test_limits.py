"""One file contains all limits, and another may override some of them."""

from pathlib import Path

import pytest

from expectations.limits import DEFAULTS, Limits, limits
from jobs.errors import AuditError
from kafka_model.cruise_control.limits import Thresholds


def test_limit_without_an_override_keeps_its_default(tmp_path: Path) -> None:
    file = tmp_path / "limits.toml"
    file.write_text("producer_skew_most = 3\n")
    overridden = limits(file)
    assert overridden.producer_skew_most == 3.0
    assert overridden.replication_factor_least == limits().replication_factor_least == 3


def test_override_of_one_cruise_control_threshold_leaves_the_others(tmp_path: Path) -> None:
    file = tmp_path / "limits.toml"
    file.write_text("[cruise_control]\ndisk_balance_threshold = 1.25\n")
    assert limits(file).cruise_control == Thresholds(disk_balance_threshold=1.25)
    assert limits().cruise_control == Thresholds()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("leader_ration_most = 2.0", "unknown limit leader_ration_most"),
        ("leader_ratio_most = '2'", "limit leader_ratio_most in .* is '2': it must be a number, 0 or more"),
        ("leader_ratio_most = true", "it must be a number"),
        ("leader_ratio_most = nan", "it must be a number"),
        ("leader_ratio_most = -0.1", "it must be a number"),
        ("idle_members_most = 0.5", "it must be a whole number"),
        ("leader_ratio_most = ", "are not valid TOML"),
        ("cruise_control = 1", "it must be a table of Cruise Control's configs"),
        ("[cruise_control]\ndisk_balance = 1.2", "unknown limit disk_balance"),
        ("[cruise_control]\ndisk_balance_threshold = '1.2'", "it must be a number, 0 or more"),
        ("[cruise_control]\ntopics_with_min_leaders_per_broker = 1", "it must be a text"),
    ],
)
def test_invalid_limit_is_an_error_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "limits.toml"
    file.write_text(text)
    with pytest.raises(AuditError, match=message) as refused:
        limits(file)
    assert "\n" not in str(refused.value)


def test_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="cannot read the limits"):
        limits(tmp_path / "none.toml")


def test_every_limit_has_a_comment_above_it_or_its_group() -> None:
    lines = DEFAULTS.read_text().splitlines()
    names = {*Limits.__slots__, *Thresholds.__slots__} - {"cruise_control"}
    for name in names:
        (number,) = [number for number, line in enumerate(lines) if line.startswith(f"{name} = ")]
        above = next(line for line in reversed(lines[:number]) if line.startswith("#") or " = " not in line)
        assert above.startswith("# "), name
