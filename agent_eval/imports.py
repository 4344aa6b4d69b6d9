"""The user's code: imported under its own name, from where it was found, without shadowing libraries."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType


class NameTakenError(ImportError):
    """Code whose name belongs to a library that is imported already."""


_ours: set[str] = set()
"""Top-level names that were imported here, and so may be imported again from elsewhere."""


def import_from(name: str, place: Path) -> ModuleType:
    """The module or package `name` that lies at `place` (a file, or a package's folder).

    A module of that name that was imported from another place before steps aside; a library of
    that name does not.

    Raises:
        NameTakenError: a library has the name.
        Exception: whatever the module does when it is imported.
    """
    _make_way(name, place)
    if str(place.parent) not in sys.path:
        sys.path.append(str(place.parent))  # last: its siblings may have names of libraries too
    if name in sys.modules:
        return sys.modules[name]
    return _load(name, place)


def import_below(name: str, folders: tuple[Path, ...]) -> ModuleType:
    """The module of a dotted name: from the first of `folders` that has it, else an installed one.

    `agent.x` is also ADK's name for the module `x` of an agent's package, if that is one of `folders`.

    Raises:
        Exception: whatever it does when it is imported.
    """
    top, _, rest = name.partition(".")
    for folder in folders:
        for place in (folder / f"{top}.py", folder / top):
            if (place.is_file() and not rest) or (place.is_dir() and any(place.glob("*.py"))):
                import_from(top, place)
                return importlib.import_module(name)
    if top == "agent" and rest:
        for folder in folders:
            if (folder / "__init__.py").is_file() and (folder / "agent.py").is_file():
                import_from(folder.name, folder)
                return importlib.import_module(f"{folder.name}.{rest}")
    return importlib.import_module(name)


def _make_way(name: str, wanted: Path) -> None:
    """Forgets modules of this name that were imported from another place.

    Raises:
        NameTakenError: they are a library's.
    """
    module = sys.modules.get(name)
    places = [Path(place) for place in getattr(module, "__path__", [])]
    if file := getattr(module, "__file__", None):
        places.append(Path(file))
    if module is not None and wanted.resolve() not in [place.resolve() for place in places]:
        if name not in _ours:
            raise NameTakenError(f"`{name}` is the name of a library that is in use; rename it")
        for other in [key for key in sys.modules if key == name or key.startswith(f"{name}.")]:
            del sys.modules[other]
    if module is None and _is_library(name, wanted):
        raise NameTakenError(f"`{name}` is the name of a library; rename it")
    _ours.add(name)


def _is_library(name: str, wanted: Path) -> bool:
    """Whether others may import something else by this name later."""
    if name in sys.stdlib_module_names:
        return True
    spec = importlib.util.find_spec(name)
    origin = Path(spec.origin) if spec and spec.origin else None
    return origin is not None and "site-packages" in origin.parts and wanted not in (origin, origin.parent)


def _load(name: str, place: Path) -> ModuleType:
    importlib.invalidate_caches()
    start = place / "__init__.py" if place.is_dir() else place
    if not start.is_file():  # a folder without __init__.py is a package all the same
        module = ModuleType(name)
        module.__path__ = [str(place)]
        sys.modules[name] = module
        return module
    locations = [str(place)] if place.is_dir() else None
    spec = importlib.util.spec_from_file_location(name, start, submodule_search_locations=locations)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot import {start}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module
