"""System calls that fail, or at which a process is killed: each in turn."""
