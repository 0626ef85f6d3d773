from datetime import date

import pytest

from lending import due, fee

MONDAY = date(2026, 3, 2)


@pytest.mark.parametrize(
    ("is_new", "expected"),
    [
        pytest.param(False, date(2026, 3, 30), marks=pytest.mark.criterion("AC-1")),
        pytest.param(True, date(2026, 3, 16), marks=pytest.mark.criterion("AC-2")),
    ],
)
def test_a_book_is_due(is_new, expected):
    assert due(MONDAY, is_new=is_new) == expected


@pytest.mark.criterion("AC-3")
class TestLateBooks:
    def test_a_day_costs_20_cents(self):
        assert fee(days_late=1) == 20

    def test_a_week_costs_seven_times_as_much(self):
        assert fee(days_late=7) == 140


@pytest.mark.criterion("AC-4")
def test_nobody_pays_more_than_5_euros():
    assert fee(days_late=365) == 500
