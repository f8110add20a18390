"""The limits are one file, some of which another may override."""

from pathlib import Path

import pytest

from expectations.limits import DEFAULTS, Limits, limits
from jobs.errors import AuditError
from kafka_model.cruise_control.limits import Thresholds


def test_a_limit_that_is_not_overridden_keeps_its_default(tmp_path: Path) -> None:
    file = tmp_path / "limits.toml"
    file.write_text("producer_skew_most = 3\n")
    allowed = limits(file)
    assert allowed.producer_skew_most == 3.0
    assert allowed.replication_factor_least == limits().replication_factor_least == 3


def test_a_threshold_of_cruise_control_is_overridden_alone(tmp_path: Path) -> None:
    file = tmp_path / "limits.toml"
    file.write_text("[cruise_control]\ndisk_balance_threshold = 1.25\n")
    assert limits(file).cruise_control == Thresholds(disk_balance_threshold=1.25)
    assert limits().cruise_control == Thresholds()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("leader_ration_most = 2.0", "unknown limit leader_ration_most"),
        ("leader_ratio_most = '2'", "limit leader_ratio_most in .* is '2': it must be a number, 0 or more"),
        ("leader_ratio_most = true", "it must be a number"),
        ("leader_ratio_most = nan", "it must be a number"),
        ("leader_ratio_most = -0.1", "it must be a number"),
        ("idle_members_most = 0.5", "it must be a whole number"),
        ("leader_ratio_most = ", "are no TOML"),
        ("cruise_control = 1", "it must be a table of Cruise Control's configs"),
        ("[cruise_control]\ndisk_balance = 1.2", "unknown limit disk_balance"),
        ("[cruise_control]\ndisk_balance_threshold = '1.2'", "it must be a number, 0 or more"),
        ("[cruise_control]\ntopics_with_min_leaders_per_broker = 1", "it must be a text"),
    ],
)
def test_a_limit_that_cannot_be_meant_is_refused_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "limits.toml"
    file.write_text(text)
    with pytest.raises(AuditError, match=said) as refused:
        limits(file)
    assert "\n" not in str(refused.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="cannot read the limits"):
        limits(tmp_path / "none.toml")


def test_every_limit_has_its_comment() -> None:
    lines = DEFAULTS.read_text().splitlines()
    for name in (*Limits.__slots__, *Thresholds.__slots__):
        if name == "cruise_control":
            continue
        (at,) = [number for number, line in enumerate(lines) if line.startswith(f"{name} = ")]
        block = lines[:at][::-1]
        above = next(line for line in block if " = " not in line or line.startswith("#"))
        assert above.startswith("# ") or name == "max_replicas_per_broker"  # says it all
