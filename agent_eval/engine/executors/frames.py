"""What an evaluation and its worker processes send each other.

A frame is its length, what it is about, the number of the run it belongs to, and a body. The
evaluation sends pickled run specs; workers answer in JSON, so that nothing an agent did to its
process can run code in ours.
"""

from __future__ import annotations

import struct
from enum import IntEnum

HEADER = struct.Struct("!IBQ")
"""Length of the body, kind, number of the run."""


class Kind(IntEnum):
    """What a frame is about."""

    RUN = 1
    """To the worker: make this run."""
    CLOSE = 2
    """To the worker: no more runs."""
    READY = 3
    """The agents are loaded."""
    UNUSABLE = 4
    """They cannot be; the body lists the problems."""
    ALIVE = 5
    """The event loop turns."""
    PLAYED = 6
    """The conversation of a run is over; its scoring goes on."""
    DONE = 7
    """The record of a run."""
    FAULT = 8
    """A bug of ours: its traceback."""
    CLOSED = 9
    """All is given back; the body lists warnings."""
    REFUSED = 10
    """From the worker: an endpoint was asked too much; its place, and seconds to leave it alone."""
    PAUSE = 11
    """To the worker: another one was told so; the same body."""


def frame(kind: Kind, number: int = 0, body: bytes = b"") -> bytes:
    """A frame as it is sent."""
    return HEADER.pack(len(body), kind, number) + body
