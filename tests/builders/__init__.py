"""What tests are made with: real libraries, packages, archives, channels and a real toolkit.

Every builder is a plain function that writes real files. What is slow to build is built once per
test session (`builders.cache`); what a function returns without having been given a folder is
shared and must not be changed.
"""

from builders.archives import tar_archive, wheel
from builders.binaries import Symbols, Writes, elf_bytes, elf_library, pe_bytes, pe_library
from builders.cache import cached
from builders.conda import FORMS, PLACEHOLDER, Form, conda_package, index_of, local_channel
from builders.recipes import (
    CUDNN_ARCHIVES,
    Era,
    cudatoolkit_10_1,
    cudnn_7_6_5,
    cudnn_archive,
    cudnn_number,
)
from builders.runfile import (
    RUNFILE_ERAS,
    Packing,
    RunfileEra,
    makeself,
    nested,
    outer_tree,
    toolkit_runfile,
)
from builders.toolkit import (
    HELLO_CU,
    parts,
    real_toolkit,
    redist_archives,
    runtime_number,
    toolkit_conda_package,
    toolkit_version,
    toolkit_wheels,
    whole_toolkit,
)
from builders.tree import Content, File, Link, Tree, versioned, write_tree

__all__ = [
    "CUDNN_ARCHIVES",
    "FORMS",
    "HELLO_CU",
    "PLACEHOLDER",
    "RUNFILE_ERAS",
    "Content",
    "Era",
    "File",
    "Form",
    "Link",
    "Packing",
    "RunfileEra",
    "Symbols",
    "Tree",
    "Writes",
    "cached",
    "conda_package",
    "cudatoolkit_10_1",
    "cudnn_7_6_5",
    "cudnn_archive",
    "cudnn_number",
    "elf_bytes",
    "elf_library",
    "index_of",
    "local_channel",
    "makeself",
    "nested",
    "outer_tree",
    "parts",
    "pe_bytes",
    "pe_library",
    "real_toolkit",
    "redist_archives",
    "runtime_number",
    "tar_archive",
    "toolkit_conda_package",
    "toolkit_runfile",
    "toolkit_version",
    "toolkit_wheels",
    "versioned",
    "wheel",
    "whole_toolkit",
    "write_tree",
]
