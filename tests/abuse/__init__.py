"""Inputs that were made to do harm, run through the whole command: `test_abuse.py`.

Each table maps the words that the refusal (or, for what is lawful, the answer) must contain to
named cases, as `hostile_tars` and `hostile_packages` do, whose archives are tried the same way.
"""
