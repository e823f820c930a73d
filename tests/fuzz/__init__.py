"""Whatever bytes come: every parser reads them or refuses. See `targets.py` for the list.

`FUZZ=2000 pytest tests/fuzz` tries two thousand inputs for each parser instead of the few of a
usual run. `python tests/fuzz/endless.py NAME` goes on for ever, guided by coverage.
"""
