"""From a request to the method of moto that answers it.

Why: moto looks through all members of the service's class for each request to learn their names. They are the
same as long as the class lives.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import moto.core.responses
from moto.core.utils import method_names_from_class


@cache
def _names(clazz: type) -> list[str]:
    """The function method_names_from_class."""
    return method_names_from_class(clazz)


PATCHES: tuple[tuple[Any, str, Any], ...] = ((moto.core.responses, "method_names_from_class", _names),)
