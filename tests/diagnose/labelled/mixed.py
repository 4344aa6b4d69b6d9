"""Failures as they come: longer answers, several things wrong at once, other languages and domains."""

from __future__ import annotations

from tests.diagnose.failure import (
    MATCH,
    MEANING,
    TRAJECTORY,
    call,
    case,
    code,
    error,
    failure,
    say,
    turn,
    varying,
)

T, M = TRAJECTORY, MATCH
FLIGHTS = {
    "flights": [{"no": "LH123", "price": 189.5, "from": "FRA"}, {"no": "AF77", "price": 212, "from": "CDG"}]
}
SEARCH = ("search_flights", {"to": "Lisbon", "date": "2026-05-01"})
FOUND = call("search_flights", {"to": "Lisbon", "date": "2026-05-01"}, FLIGHTS)

FAILURES = (
    failure(
        "table instead of a sentence",
        "AE211",
        M,
        case(
            turn(
                "Flights to Lisbon on 1 May?",
                FOUND,
                say(
                    "Here are your options:\n\n| Flight | From | Price |\n|---|---|---|\n| LH123 | Frankfurt "
                    "(FRA) | 189.50 € |\n| AF77 | Paris (CDG) | 212.00 € |\n\nThe cheapest is **LH123** at "
                    "189.50 €. Would you like me to book it?"
                ),
                calls=[SEARCH],
                text="The cheapest is LH123 at 189.50 €.",
            )
        ),
        criteria={M: 0.8},
    ),
    failure(
        "wrong flight named",
        "AE210",
        M,
        case(
            turn(
                "Cheapest flight to Lisbon?",
                FOUND,
                say("The cheapest flight is AF77 for 212 euros."),
                calls=[SEARCH],
                text="The cheapest flight is LH123 for 189.50 euros.",
            )
        ),
        criteria={M: 0.8},
    ),
    failure(
        "a fare nobody offered",
        "AE207",
        M,
        case(
            turn(
                "Cheapest flight to Lisbon?",
                FOUND,
                say("There is a special offer with Ryanair for only 39.99 euros today."),
                calls=[SEARCH],
                text="The cheapest flight is LH123 for 189.50 euros.",
            )
        ),
        criteria={M: 0.8},
    ),
    failure(
        "date in another format",
        "AE103",
        T,
        case(
            turn(
                "Flights to Lisbon on 1 May?",
                call("search_flights", {"to": "Lisbon", "date": "01.05.2026"}, FLIGHTS),
                say("LH123."),
                calls=[SEARCH],
            )
        ),
    ),
    failure(
        "passengers as text and as number",
        "AE104",
        T,
        case(
            turn(
                "Two seats please",
                call("seats", {"flight": "LH123", "passengers": "2"}),
                say("ok"),
                calls=[("seats", {"flight": "LH123", "passengers": 2})],
            )
        ),
    ),
    failure(
        "retries after an error",
        "AE101",
        T,
        case(
            turn(
                "Flights?",
                call("search_flights", {"to": "Lisbon", "date": "2026-05-01"}, {"error": "busy"}),
                FOUND,
                say("LH123."),
                calls=[SEARCH],
            )
        ),
    ),
    failure(
        "books without asking, then again",
        "AE101",
        T,
        case(
            turn(
                "Book LH123",
                call("book", {"flight": "LH123"}, {"ref": "X1"}),
                say("Booked: X1."),
                calls=[("book", {"flight": "LH123"})],
            ),
            turn(
                "Thanks, is it done?", call("book", {"flight": "LH123"}, {"ref": "X2"}), say("Yes."), calls=[]
            ),
        ),
    ),
    failure(
        "sub-agent does the look-up",
        "AE109",
        T,
        case(
            turn(
                "Where is my bag?",
                call("transfer_to_agent", {"agent_name": "baggage"}),
                call("trace_bag", {"tag": "LH9"}, {"at": "FRA"}),
                say("In Frankfurt."),
                calls=[("trace_bag", {"tag": "LH9"})],
            )
        ),
    ),
    failure(
        "handed to the wrong agent",
        "AE103",
        T,
        case(
            turn(
                "Where is my bag?",
                call("transfer_to_agent", {"agent_name": "booking"}),
                say("No idea."),
                calls=[("transfer_to_agent", {"agent_name": "baggage"})],
            )
        ),
    ),
    failure(
        "search tool written down with a real one",
        "AE108",
        T,
        case(
            turn(
                "News about Lisbon and a flight",
                FOUND,
                say("ok"),
                calls=[SEARCH, ("google_search", {"query": "Lisbon news"})],
            )
        ),
    ),
    failure(
        "French answer with the same facts",
        "AE204",
        M,
        case(
            turn(
                "Le vol le moins cher ?",
                FOUND,
                say("Le vol le moins cher est le LH123 pour 189,50 euros avec les taxes."),
                calls=[SEARCH],
                text="The cheapest flight is the LH123 for 189.50 euros and that is with taxes.",
            )
        ),
        criteria={M: 0.8},
    ),
    failure(
        "temperature in other words",
        "AE212",
        M,
        case(
            turn(
                "Weather?",
                call("forecast", {"city": "Oslo"}, {"high": -2, "sky": "snow"}),
                say("Bundle up: Oslo will see snow with a high of -2 °C."),
                calls=[("forecast", {"city": "Oslo"})],
                text="Tomorrow in Oslo: snow, at most -2 °C.",
            )
        ),
        criteria={M: 0.8},
    ),
    failure(
        "price list went up by a tenth",
        "AE208",
        M,
        case(
            turn(
                "What is a day ticket?",
                call("price", {"kind": "day"}, {"eur": 8.8}),
                say("A day ticket is 8.80 euros."),
                calls=[("price", {"kind": "day"})],
                text="A day ticket costs 8.00 euros.",
            )
        ),
        criteria={M: 0.9},
    ),
    failure(
        "asks for the city with an offer",
        "AE205",
        M,
        case(
            turn(
                "Weather?",
                say("Sure, I can look that up for you. For which city and which day?"),
                text="It is sunny in Lima.",
            )
        ),
        criteria={M: 0.8},
    ),
    failure(
        "policy refusal",
        "AE206",
        M,
        case(
            turn(
                "Cancel my neighbour's contract",
                say("I apologize, but this is not something that can be done here."),
                text="The contract has been ended.",
            )
        ),
        criteria={M: 0.8},
    ),
    failure(
        "chart without words",
        "AE202",
        M,
        case(
            turn(
                "Draw sales",
                call("draw", {"kind": "sales"}, {"artifact": "sales.png"}),
                calls=[("draw", {"kind": "sales"})],
                text="Here is the chart of your sales.",
            )
        ),
        criteria={M: 0.5},
    ),
    failure(
        "yes and no",
        "AE213",
        M,
        case(turn("Is it open?", say("No, it is closed."), text="Yes, it is open until late.")),
        criteria={M: 0.8},
    ),
    failure(
        "confirmation number differs every time",
        "AE210",
        M,
        case(
            turn(
                "Book it",
                call("book", {}, {"ref": "QX81"}),
                say("Your booking reference is ready."),
                text="Your booking reference is QX81.",
            )
        ),
        criteria={M: 0.9},
    ),
    failure(
        "reference of a live booking",
        "AE208",
        M,
        case(turn("Book it", call("book", {}, {"ref": "ZK44"}), say("Done: ZK44."), text="Done: QX81.")),
        criteria={M: 0.9},
    ),
    failure(
        "no tool, wrong price",
        "AE106",
        M,
        case(
            turn(
                "What is a day ticket?",
                say("A day ticket is about 5 euros."),
                calls=[("price", {"kind": "day"})],
                text="A day ticket costs 8.00 euros.",
            )
        ),
        criteria={M: 0.8},
    ),
    failure(
        "tool of a mocked service down",
        "AE112",
        M,
        case(
            turn(
                "What is a day ticket?",
                call("price", {"kind": "day"}, {"error": "ConnectionError: upstream"}),
                say("The price list is not available at the moment."),
                calls=[("price", {"kind": "day"})],
                text="A day ticket costs 8.00 euros.",
            )
        ),
        criteria={M: 0.8},
    ),
    failure(
        "error that the case foresees",
        "AE213",
        M,
        case(
            turn(
                "Where is A9?",
                call("find", {"id": "A9"}, {"error": "no such order"}),
                say("Hm, strange."),
                calls=[("find", {"id": "A9"})],
                responses=[("find", {"error": "no such order"})],
                text="We have nothing by that number.",
            )
        ),
        criteria={M: 0.8},
    ),
    failure(
        "crash in a tool by a text in the state",
        "AE402",
        "",
        case(turn("Add Oslo", code("session.state['stops'].append('Oslo')"), text="ok"), state={"stops": ""}),
    ),
    failure(
        "placeholder in one case of two",
        "AE401",
        "",
        case(turn("Hi", say("Hello."), text="Hello."), state={"name": "Ada"}),
        case(turn("Hi", code("greeting = 'Hello {name}'.format(**session.state)"), text="Hello.")),
    ),
    failure(
        "quota hits the later runs",
        "AE404",
        "",
        varying(
            turn("Hi", say("Hello."), text="Hello."),
            turn("Hi", error("ClientError", "429 Too Many Requests"), text="Hello."),
            turn("Hi", error("ClientError", "429 Too Many Requests"), text="Hello."),
        ),
        criteria={M: 0.8},
    ),
    failure(
        "judge and words disagree",
        "AE212",
        M,
        case(
            turn("Is it done?", say("Consider it sorted."), text="Yes, the cancellation went through."),
            judged={
                MEANING: {
                    "status": "PASSED",
                    "score": 1.0,
                    "threshold": 0.8,
                    "per_invocation": [{"score": 1.0, "status": "PASSED"}],
                }
            },
        ),
        criteria={M: 0.8},
    ),
    failure(
        "second of three turns",
        "AE103",
        T,
        case(
            turn("a", call("x", {"n": 1}), say("b"), calls=[("x", {"n": 1})]),
            turn("c", call("x", {"n": 3}), say("d"), calls=[("x", {"n": 2})]),
            turn("e", call("x", {"n": 4}), say("f"), calls=[("x", {"n": 4})]),
        ),
    ),
    failure(
        "expects nothing, gets a goodbye call",
        "AE107",
        T,
        case(
            turn("Where is A1?", call("find", {"id": "A1"}), say("b"), calls=[("find", {"id": "A1"})]),
            turn("bye", call("end_session", {}), say("Bye.")),
        ),
    ),
)
