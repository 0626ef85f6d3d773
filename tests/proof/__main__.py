"""`python -m tests.proof`: print rows 41 to 58, and what refuses each; `tox -e sweeps` tries all of them."""

from __future__ import annotations

from tests.proof.table import count_by, table, twins_table

print("\n".join([count_by(), "", *table(), "", *twins_table()]))
