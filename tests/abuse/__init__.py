"""Inputs that somebody made to do harm, run through the whole command: `test_abuse.py`.

Each table maps the words that the refusal must hold (or, for what is lawful, the answer) to
named cases, as `hostile_tars` and `hostile_packages` do, whose archives go the same way.
"""
