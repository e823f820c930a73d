"""Archives: what a file is, and its members put on disk, whole and checked, or not at all.

One walk for every format, `unpacking`: `opening` tells the format by its first bytes and returns a
layout (conda, nvidia, wheels, runfiles); the layout reads members (tarball, zips) from a decoded
stream (streams); placing writes them. What a file is called never decides what it is.
"""
