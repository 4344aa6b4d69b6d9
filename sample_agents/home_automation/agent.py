"""A sync agent: a plain function that blocks in its tools and returns its answer."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent_eval import Content, Session

from .home import COLDEST, WARMEST, Home
from .languages import ENGLISH, Language, language_of, normalized

NUMBER = re.compile(r"-?\d+(?:[.,]\d+)?")
"""Digits of any script; `float` reads them all."""


def root_agent(message: Content, session: Session) -> str:
    """Obeys one request, room by room, and answers in its language."""
    text = normalized(message.text)
    turn = Turn(session, Home(session.state), language_of(text) or ENGLISH)
    if not turn.understands(text) or not (rooms := turn.rooms_meant(text)):
        return turn.offer()
    session.state["last_room"] = rooms[-1]
    return " ".join(turn.obey(text, room) for room in rooms)


@dataclass(frozen=True)
class Turn:
    """One request in one language."""

    session: Session
    home: Home
    language: Language

    def understands(self, text: str) -> bool:
        """Whether there is something to do: switch a light, or tell or set a temperature."""
        words = self.language
        switched = re.search(words.light, text) and re.search(f"{words.on}|{words.off}", text)
        return bool(switched or re.search(words.temperature, text))

    def rooms_meant(self, text: str) -> list[str]:
        """The rooms that a request names or points at."""
        words = self.language
        if re.search(words.everywhere, text):
            return self.all_rooms()
        named = [room for room in self.home.rooms if re.search(words.place(room).pattern, text)]
        last = self.session.state.get("last_room")
        return named or ([last] if last and re.search(words.there, text) else [])

    def obey(self, text: str, room: str) -> str:
        """Does what is asked in one room."""
        words = self.language
        if not re.search(words.temperature, text):
            return self.switch_light(room, on=not re.search(words.off, text))
        if re.search(words.warmer, text):
            return self.set_temperature(room, self.temperature(room) + 1)
        if re.search(words.colder, text):
            return self.set_temperature(room, self.temperature(room) - 1)
        if number := NUMBER.search(text):
            return self.set_temperature(room, float(number.group().replace(",", ".")))
        return self.say(words.temperature_is, room, celsius=self.temperature(room))

    def all_rooms(self) -> list[str]:
        rooms: list[str] = self.session.call_tool_sync(self.home.list_rooms)["rooms"]
        return rooms

    def switch_light(self, room: str, *, on: bool) -> str:
        self.session.call_tool_sync(self.home.set_light, room=room, on=on)
        return self.say(self.language.light_is_on if on else self.language.light_is_off, room)

    def temperature(self, room: str) -> float:
        celsius: float = self.session.call_tool_sync(self.home.get_temperature, room=room)["celsius"]
        return celsius

    def set_temperature(self, room: str, celsius: float) -> str:
        if not COLDEST <= celsius <= WARMEST:
            return self.say(self.language.refusal, room, celsius=self.temperature(room))
        self.session.call_tool_sync(self.home.set_temperature, room=room, celsius=celsius)
        return self.say(self.language.temperature_set, room, celsius=celsius)

    def offer(self) -> str:
        """What we answer when we do not know what to do, or where."""
        places = ", ".join(self.language.place(room).phrase for room in self.all_rooms())
        return self.language.offer.format(places=places)

    def say(self, template: str, room: str, **values: float) -> str:
        place = self.language.place(room).phrase
        return template.format(place=place, coldest=COLDEST, warmest=WARMEST, **values)
