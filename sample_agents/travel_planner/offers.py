"""Flights and hotels, and the tools that find and book them. Prices are in euros."""

from __future__ import annotations

from typing import Any

Offer = dict[str, Any]

FLIGHTS: dict[str, list[Offer]] = {
    "Lisbon": [{"id": "TP501", "price": 140}, {"id": "TP503", "price": 95}],
    "Oslo": [{"id": "SK812", "price": 160}, {"id": "SK820", "price": 210}],
    "Kyoto": [{"id": "NH204", "price": 780}],
}
HOTELS: dict[str, list[Offer]] = {
    "Lisbon": [
        {"id": "L1", "name": "Casa Azul", "price": 85, "rating": 4.4},
        {"id": "L2", "name": "Miradouro Palace", "price": 190, "rating": 4.8},
        {"id": "L3", "name": "Alfama Rooms", "price": 60, "rating": 4.1},
    ],
    "Oslo": [
        {"id": "O1", "name": "Fjord House", "price": 150, "rating": 4.6},
        {"id": "O2", "name": "Harbour Hostel", "price": 70, "rating": 4.0},
    ],
    "Kyoto": [
        {"id": "K1", "name": "Gion Inn", "price": 120, "rating": 4.7},
        {"id": "K2", "name": "Kamo Stay", "price": 55, "rating": 4.2},
    ],
}


def find_flights(city: str) -> dict[str, list[Offer]]:
    """Return flights to a city."""
    return {"flights": FLIGHTS.get(city, [])}


def find_hotels(city: str, max_price: int) -> dict[str, list[Offer]]:
    """Hotels in a city that cost at most `max_price` a night."""
    return {"hotels": [hotel for hotel in HOTELS.get(city, []) if hotel["price"] <= max_price]}


def book(kind: str, id: str) -> dict[str, str]:  # noqa: A002 - a tool's arguments are what its caller sees
    """Books an offer; `kind` is `flight` or `hotel`."""
    offers = {"flight": FLIGHTS, "hotel": HOTELS}[kind]
    if not any(offer["id"] == id for city in offers.values() for offer in city):
        return {"error": f"no {kind} {id}"}
    return {"status": "booked", "reference": f"{kind[0].upper()}-{id}"}
