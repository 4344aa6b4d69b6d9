"""Tool calls that are not the expected ones."""

from __future__ import annotations

from tests.diagnose.failure import MATCH, TRAJECTORY, call, case, failure, say, turn

T = TRAJECTORY
SHIPPED = {"status": "shipped", "eta": "5 May"}
FIND = ("find_order", {"order_id": "A1"})
CANCEL = ("cancel_order", {"order_id": "A1"})

FAILURES = (
    # calls that nobody asked for
    failure(
        "writes a log",
        "AE101",
        T,
        case(
            turn(
                "Where is A1?",
                call("find_order", {"order_id": "A1"}, SHIPPED),
                call("write_log", {"event": "looked up"}),
                say("Shipped."),
                calls=[FIND],
            )
        ),
    ),
    failure(
        "asks for the time first",
        "AE101",
        T,
        case(
            turn(
                "Is my parcel late?",
                call("now", {}, {"time": "10:00"}),
                call("find_order", {"order_id": "A1"}, SHIPPED),
                call("late_orders", {"limit": 10}),
                say("No."),
                calls=[("find_order", {"order_id": "A1"}), ("late_orders", {"limit": 10})],
            )
        ),
    ),
    failure(
        "looks the same thing up twice",
        "AE101",
        T,
        case(
            turn(
                "Where is A1?",
                call("find_order", {"order_id": "A1"}, SHIPPED),
                call("find_order", {"order_id": "A1"}, SHIPPED),
                say("Shipped."),
                calls=[FIND],
            )
        ),
    ),
    failure(
        "acts where it should only talk",
        "AE101",
        T,
        case(turn("Thanks!", call("close_ticket", {"id": 7}), say("You are welcome."), calls=[])),
    ),
    # another order
    failure(
        "two forecasts at once",
        "AE102",
        T,
        case(
            turn(
                "Oslo and Lima?",
                call("forecast", {"city": "Lima"}),
                call("forecast", {"city": "Oslo"}),
                say("Both sunny."),
                calls=[("forecast", {"city": "Oslo"}), ("forecast", {"city": "Lima"})],
            )
        ),
    ),
    failure(
        "cancels, then looks",
        "AE102",
        T,
        case(
            turn(
                "Cancel A1",
                call("cancel_order", {"order_id": "A1"}),
                call("find_order", {"order_id": "A1"}),
                say("Done."),
                calls=[FIND, CANCEL],
            )
        ),
        criteria={T: {"threshold": 1.0, "match_type": "IN_ORDER"}},
    ),
    failure(
        "three rooms in any order",
        "AE102",
        T,
        case(
            turn(
                "Lights off",
                call("light", {"room": 2}),
                call("light", {"room": 3}),
                call("light", {"room": 1}),
                say("Off."),
                calls=[("light", {"room": number}) for number in (1, 2, 3)],
            )
        ),
    ),
    # wrong arguments
    failure(
        "another order number",
        "AE103",
        T,
        case(turn("Where is A1?", call("find_order", {"order_id": "A11"}), say("?"), calls=[FIND])),
    ),
    failure(
        "a query in other words",
        "AE103",
        T,
        case(
            turn(
                "How do refunds work?",
                call("search_help", {"query": "refund policy"}),
                say("..."),
                calls=[("search_help", {"query": "how do refunds work"})],
            )
        ),
    ),
    failure(
        "spells a default out",
        "AE103",
        T,
        case(
            turn(
                "Hotels in Rome",
                call("hotels", {"city": "Rome", "limit": 10}),
                say("..."),
                calls=[("hotels", {"city": "Rome"})],
            )
        ),
    ),
    failure(
        "forgets the currency",
        "AE103",
        T,
        case(
            turn(
                "100 dollars in euros?",
                call("convert", {"amount": 100, "to": "EUR"}),
                say("91"),
                calls=[("convert", {"amount": 100, "from": "USD", "to": "EUR"})],
            )
        ),
        criteria={T: {"threshold": 1.0, "match_type": "ANY_ORDER"}},
    ),
    failure(
        "value outside of the pattern",
        "AE103",
        T,
        case(
            turn(
                "Book a room for tonight",
                call("book", {"date": "tonight"}),
                say("ok"),
                calls=[("book", {"date": {"$regex": r"^\d{4}-\d\d-\d\d$"}})],
            )
        ),
    ),
    # another type
    failure(
        "number as text",
        "AE104",
        T,
        case(turn("Order 17?", call("find", {"id": "17"}), say("?"), calls=[("find", {"id": 17})])),
    ),
    failure(
        "one tag, not in a list",
        "AE104",
        T,
        case(
            turn(
                "Tag it urgent",
                call("tag", {"tags": "urgent"}),
                say("ok"),
                calls=[("tag", {"tags": ["urgent"]})],
            )
        ),
    ),
    failure(
        "switch as text",
        "AE104",
        T,
        case(
            turn(
                "Turn it on",
                call("switch", {"device": "lamp", "on": "true"}),
                say("on"),
                calls=[("switch", {"device": "lamp", "on": True})],
            )
        ),
    ),
    failure(
        "filter as JSON text",
        "AE104",
        T,
        case(
            turn(
                "Open orders",
                call("list_orders", {"filter": '{"open": true}'}),
                say("none"),
                calls=[("list_orders", {"filter": {"open": True}})],
            )
        ),
    ),
    # missing ones
    failure(
        "does not check the stock",
        "AE105",
        T,
        case(
            turn(
                "Order 2 pens",
                call("place_order", {"item": "pen", "n": 2}),
                say("Ordered."),
                calls=[("check_stock", {"item": "pen"}), ("place_order", {"item": "pen", "n": 2})],
            )
        ),
    ),
    failure(
        "one city of two",
        "AE105",
        T,
        case(
            turn(
                "Compare Oslo and Lima",
                call("forecast", {"city": "Oslo"}),
                say("Oslo is colder."),
                calls=[("forecast", {"city": "Oslo"}), ("forecast", {"city": "Lima"})],
            )
        ),
    ),
    failure(
        "no mail at the end",
        "AE105",
        T,
        case(
            turn(
                "Refund A1 and tell me by mail",
                call("find_order", {"order_id": "A1"}),
                call("refund", {"order_id": "A1"}),
                say("Done."),
                calls=[FIND, ("refund", {"order_id": "A1"}), ("send_mail", {"to": "me"})],
            )
        ),
        criteria={T: {"threshold": 1.0, "match_type": "IN_ORDER"}},
    ),
    # none at all
    failure(
        "answers from memory",
        "AE106",
        T,
        case(turn("Weather in Oslo?", say("It is usually cold."), calls=[("forecast", {"city": "Oslo"})])),
    ),
    failure(
        "promises only",
        "AE106",
        T,
        case(turn("Cancel A1", say("I will cancel it right away."), calls=[FIND, CANCEL])),
    ),
    failure(
        "calls in the first turn only",
        "AE106",
        T,
        case(
            turn("Where is A1?", call("find_order", {"order_id": "A1"}), say("Here."), calls=[FIND]),
            turn("And B2?", say("On its way too."), calls=[("find_order", {"order_id": "B2"})]),
        ),
    ),
    failure(
        "invents an answer without the tool",
        "AE106",
        MATCH,
        case(
            turn(
                "What does the blue lamp cost?",
                say("Lamps like that are usually cheap."),
                calls=[("price", {"item": "blue lamp"})],
                text="The blue lamp costs 49 euros.",
            )
        ),
    ),
    # a turn whose calls were not written down
    failure(
        "middle turn left blank",
        "AE107",
        T,
        case(
            turn("Where is A1?", call("find_order", {"order_id": "A1"}), say("a"), calls=[FIND]),
            turn("And B2?", call("find_order", {"order_id": "B2"}), say("b")),
            turn("Cancel A1", call("cancel_order", {"order_id": "A1"}), say("c"), calls=[CANCEL]),
        ),
    ),
    failure(
        "case with texts only",
        "AE107",
        T,
        case(turn("Where is A1?", call("find_order", {"order_id": "A1"}), say("a"), text="a")),
    ),
    failure(
        "second turn with an empty list",
        "AE107",
        T,
        case(
            turn("Where is A1?", call("find_order", {"order_id": "A1"}), say("a"), calls=[FIND]),
            turn("Cancel it", call("cancel_order", {"order_id": "A1"}), say("b"), calls=[]),
        ),
    ),
    # tools inside the model
    failure(
        "search among the calls",
        "AE108",
        T,
        case(turn("Who won?", say("Norway."), calls=[("google_search", {"query": "who won"})])),
    ),
    failure(
        "search and a tool",
        "AE108",
        T,
        case(
            turn(
                "Plan Rome",
                call("hotels", {"city": "Rome"}),
                say("ok"),
                calls=[("google_search", {"query": "Rome"}), ("hotels", {"city": "Rome"})],
            )
        ),
    ),
    failure(
        "reading a page",
        "AE108",
        T,
        case(turn("Sum up example.org", say("It is an example."), calls=[("url_context", {})])),
        criteria={T: {"threshold": 1.0, "match_type": "ANY_ORDER"}},
    ),
    # hand-overs
    failure(
        "hand-over that nobody wrote down",
        "AE109",
        T,
        case(
            turn(
                "Refund A1",
                call("transfer_to_agent", {"agent_name": "billing"}),
                call("refund", {"order_id": "A1"}),
                say("ok"),
                calls=[("refund", {"order_id": "A1"})],
            )
        ),
    ),
    failure(
        "hand-over that did not happen",
        "AE109",
        T,
        case(
            turn(
                "Refund A1",
                call("refund", {"order_id": "A1"}),
                say("ok"),
                calls=[("transfer_to_agent", {"agent_name": "billing"}), ("refund", {"order_id": "A1"})],
            )
        ),
    ),
    failure(
        "there and back again",
        "AE109",
        T,
        case(
            turn(
                "Hello",
                call("transfer_to_agent", {"agent_name": "greeter"}),
                call("transfer_to_agent", {"agent_name": "desk"}),
                say("Hello!"),
                calls=[],
            )
        ),
    ),
    # names
    failure(
        "camel case",
        "AE110",
        T,
        case(turn("A1?", call("findOrder", {"order_id": "A1"}), say("?"), calls=[FIND])),
    ),
    failure(
        "prefix of a toolset",
        "AE110",
        T,
        case(turn("A1?", call("shop__find_order", {"order_id": "A1"}), say("?"), calls=[FIND])),
    ),
    failure(
        "singular and plural",
        "AE110",
        T,
        case(
            turn(
                "Open orders?",
                call("list_order", {"open": True}),
                say("0"),
                calls=[("list_orders", {"open": True})],
            )
        ),
    ),
    # in another turn
    failure(
        "acts before it is told to",
        "AE111",
        T,
        case(
            turn(
                "I want to cancel A1",
                call("find_order", {"order_id": "A1"}),
                call("cancel_order", {"order_id": "A1"}),
                say("Done."),
                calls=[FIND],
            ),
            turn("Yes, please", say("Already done."), calls=[CANCEL]),
        ),
    ),
    failure(
        "asks first",
        "AE111",
        T,
        case(
            turn("Cancel A1", say("Sure?"), calls=[CANCEL]),
            turn("Yes", call("cancel_order", {"order_id": "A1"}), say("Done."), calls=[]),
        ),
    ),
    failure(
        "looks up too late",
        "AE111",
        T,
        case(
            turn("Hi, it is about A1", say("What about it?"), calls=[FIND]),
            turn("Where is it?", call("find_order", {"order_id": "A1"}, SHIPPED), say("Shipped."), calls=[]),
            turn("Thanks", say("Bye."), calls=[]),
        ),
    ),
    # tools that fail
    failure(
        "stops after an error",
        "AE112",
        T,
        case(
            turn(
                "Cancel A1",
                call("find_order", {"order_id": "A1"}, {"error": "database is locked"}),
                say("I cannot find it."),
                calls=[FIND, CANCEL],
            )
        ),
    ),
    failure(
        "tells of an outage",
        "AE112",
        MATCH,
        case(
            turn(
                "Weather in Oslo?",
                call("forecast", {"city": "Oslo"}, {"status": "error", "detail": "503 from upstream"}),
                say("The weather service does not answer."),
                calls=[("forecast", {"city": "Oslo"})],
                text="Oslo has snow and -2 °C.",
            )
        ),
    ),
    failure(
        "empty-handed",
        "AE112",
        MATCH,
        case(
            turn(
                "Price of a lamp?",
                call("price", {"item": "lamp"}, {"error_message": "no key"}),
                say("The price is not known."),
                calls=[("price", {"item": "lamp"})],
                text="A lamp is 49 euros.",
            )
        ),
    ),
    # several things at once, as they come
    failure(
        "wrong argument and a log",
        "AE103",
        T,
        case(
            turn(
                "Where is A1?",
                call("find_order", {"order_id": "A2"}, SHIPPED),
                call("write_log", {"event": "x"}),
                say("Shipped."),
                calls=[FIND],
            )
        ),
    ),
    failure(
        "missing step and a log",
        "AE105",
        T,
        case(
            turn(
                "Cancel A1",
                call("find_order", {"order_id": "A1"}, SHIPPED),
                call("write_log", {"event": "x"}),
                say("Shipped."),
                calls=[FIND, CANCEL],
            )
        ),
    ),
)
