import pytest
from leap_year import is_leap_year


@pytest.mark.parametrize("year", [2024, 2000])
def test_leap_years(year):
    assert is_leap_year(year)


@pytest.mark.parametrize("year", [2023, 1900])
def test_common_years(year):
    assert not is_leap_year(year)
