"""Whatever bytes come, every parser reads or refuses them. See `targets.py` for the list.

`FUZZ=2000 pytest tests/fuzz` tries two thousand inputs for each parser instead of the few of a
usual run. `python tests/fuzz/guided.py NAME` goes on for ever, guided by coverage.
"""
