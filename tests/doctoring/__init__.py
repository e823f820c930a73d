"""Broken situations, one for each rule of `doctor`: real files, real shells, real mounts."""

from doctoring import building, environment, machine, shell, startup
from doctoring.patient import CASES, Patient

__all__ = ["CASES", "Patient", "building", "environment", "machine", "shell", "startup"]
