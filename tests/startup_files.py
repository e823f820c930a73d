"""The startup files that `init --install` edits, and how tests call it."""

from __future__ import annotations

from checks import succeeded
from homes import Home

FILES = {
    "bash": ".bashrc",
    "zsh": ".zshrc",
    "fish": "xdg-config/fish/conf.d/cudaswitch.fish",
}


def install(home: Home, *arguments: str) -> str:
    done = home.run("init", "--install", *arguments)
    assert succeeded(done) == []
    return done.stderr


def remove(home: Home, *arguments: str) -> str:
    done = home.run("init", "--remove", *arguments)
    assert succeeded(done) == []
    return done.stderr
