"""Runs conda_transitions.py by importing it: a module is compiled once, a script at each start."""

import sys

sys.path.insert(0, sys.argv[0].rpartition("/")[0])

from conda_transitions import main

sys.exit(main(sys.argv[1:]))
