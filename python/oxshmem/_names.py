"""The kind of the module's enumerations."""

from __future__ import annotations

import enum
from typing import List


class Names(enum.EnumMeta):
    """An enumeration that shows its members alone: the methods of int and str would hide the functions in `help(oxshmem)`."""

    def __dir__(cls) -> List[str]:
        return ["__doc__", *cls.__members__]
