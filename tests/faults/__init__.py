"""Calls of the system that fail, or that a process is killed at: each in turn."""
