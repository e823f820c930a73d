"""Runs conda_transitions.py: what is imported is compiled once, a script at each of its starts."""

import sys

sys.path.insert(0, sys.argv[0].rpartition("/")[0])

from conda_transitions import main

sys.exit(main(sys.argv[1:]))
