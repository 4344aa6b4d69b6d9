"""The home of one session, and the tools that read and change it."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

Room = dict[str, Any]

ROOMS: dict[str, Room] = {
    "living room": {"temperature": 21, "light": "off"},
    "bedroom": {"temperature": 19, "light": "off"},
    "kitchen": {"temperature": 20, "light": "on"},
}
"""What every session starts from, unless its state brings rooms of its own."""

COLDEST, WARMEST = 18, 30


class Home:
    """Rooms kept in the session's state, so that no run sees what another one changed."""

    def __init__(self, state: dict[str, Any]) -> None:
        self.rooms: dict[str, Room] = state.setdefault("rooms", deepcopy(ROOMS))

    def list_rooms(self) -> dict[str, list[str]]:
        """The names of all rooms."""
        return {"rooms": list(self.rooms)}

    def get_temperature(self, room: str) -> dict[str, float]:
        """The temperature that a room is set to."""
        return {"celsius": self.rooms[room]["temperature"]}

    def set_temperature(self, room: str, celsius: float) -> dict[str, Any]:
        """Sets a room to a temperature between 18 and 30 degrees."""
        if not COLDEST <= celsius <= WARMEST:
            return {"error": f"{celsius:g} is outside {COLDEST} to {WARMEST}"}
        self.rooms[room]["temperature"] = celsius
        return {"celsius": celsius}

    def set_light(self, room: str, on: bool) -> dict[str, str]:
        """Switches the light of a room on or off."""
        self.rooms[room]["light"] = "on" if on else "off"
        return {"light": self.rooms[room]["light"]}
