"""Agents as objects: they have instructions and tools, and yield what they say on the way."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

from agent_eval import Content, Event, Part, Session

from .offers import FLIGHTS, book, find_flights, find_hotels

CITY = re.compile(r"\b(?:to|visit|(?:days|nights) in)\s+([A-Z]\w+)")
DAYS = re.compile(r"\b(\d+)[ -](?:day|night)s?\b", re.IGNORECASE)
BUDGET = re.compile(r"€\s?(\d+)|\b(\d+)\s?(?:€|euros?\b)", re.IGNORECASE)
YES = re.compile(r"^(?!.*\b(?:no|not|don't)\b).*\b(?:yes|book|go ahead)\b", re.IGNORECASE)

QUESTIONS = {
    "destination": "Where would you like to go?",
    "days": "How many days would you like to stay?",
    "budget": "How many euros may the trip cost?",
}
UNDECIDED = "Shall I book it, or what would you like to change?"


class HotelScout:
    """The sub-agent for hotels: reads `trip` and `max_price` from the state, leaves `hotel` there."""

    name = "hotel_scout"
    instruction = "Find the best rated hotel that the price limit allows, and say how many there were."
    tools = (find_hotels,)

    async def __call__(self, message: Content, session: Session) -> AsyncIterator[Event]:
        city, max_price = session.state["trip"]["destination"], session.state["max_price"]
        found = await session.call_tool(find_hotels, city=city, max_price=max_price)
        hotels = sorted(found["hotels"], key=lambda hotel: hotel["rating"], reverse=True)
        session.state["hotel"] = hotels[0] if hotels else None
        text = f"Hotels in {city} for at most {max_price} euros a night: {len(hotels)}."
        yield Event(author=self.name, content=Content(role="model", parts=[Part(text=text)]))


class TravelPlanner:
    """Gathers a trip turn by turn, makes an offer, and books it once the user agrees."""

    name = "travel_planner"
    instruction = (
        "Ask for destination, days and budget until you know all three. Then look for the cheapest "
        "flight, let hotel_scout find a hotel for the rest of the budget, and offer both. Book nothing "
        "before the user agrees."
    )
    tools = (find_flights, book)

    def __init__(self) -> None:
        self.scout = HotelScout()

    async def __call__(self, message: Content, session: Session) -> AsyncIterator[str | Event]:
        trip = session.state.setdefault("trip", {})
        wishes = _wishes(message.text)
        if session.state.get("offer") and not wishes:
            yield await self._book(session) if YES.search(message.text) else UNDECIDED
            return
        trip.update(wishes)
        missing = next((question for wish, question in QUESTIONS.items() if wish not in trip), None)
        if missing:
            yield missing
            return
        yield f"Let me see what {trip['days']} days in {trip['destination']} cost."
        async for step in self._plan(trip, message, session):
            yield step

    async def _plan(
        self, trip: dict[str, Any], message: Content, session: Session
    ) -> AsyncIterator[str | Event]:
        city, days, budget = trip["destination"], trip["days"], trip["budget"]
        session.state["offer"] = None
        flights = (await session.call_tool(find_flights, city=city))["flights"]
        if not flights:
            del trip["destination"]
            yield f"I know of no flights to {city}. I can plan trips to {', '.join(FLIGHTS)}."
            return
        flight = min(flights, key=lambda offer: offer["price"])
        if flight["price"] >= budget:
            yield f"The flight to {city} alone costs {flight['price']} euros. Can you spend more?"
            return
        session.state["max_price"] = (budget - flight["price"]) // days
        async for event in self.scout(message, session):
            yield event
        hotel = session.state["hotel"]
        if hotel is None:
            yield f"I found no hotel in {city} for {days} days within {budget} euros. Can you spend more?"
            return
        session.state["offer"] = {"flight": flight["id"], "hotel": hotel["id"]}
        total = flight["price"] + days * hotel["price"]
        yield (
            f"{days} days in {city} for {total} euros: flight {flight['id']} for {flight['price']} euros "
            f"and {hotel['name']} for {hotel['price']} euros a night. Shall I book it?"
        )

    async def _book(self, session: Session) -> str:
        offer = session.state["offer"]
        booked = [await session.call_tool(book, kind=kind, id=offer[kind]) for kind in ("flight", "hotel")]
        session.state.update(trip={}, offer=None)
        return f"Booked. Your references are {' and '.join(booking['reference'] for booking in booked)}."


def _wishes(text: str) -> dict[str, Any]:
    """What a message says about the trip."""
    city, days, budget = CITY.search(text), DAYS.search(text), BUDGET.search(text)
    found = {
        "destination": city and city[1],
        "days": days and int(days[1]),
        "budget": budget and int(budget[1] or budget[2]),
    }
    return {wish: value for wish, value in found.items() if value}


root_agent = TravelPlanner()
