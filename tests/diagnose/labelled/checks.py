"""Ready-made checks."""

from __future__ import annotations

from tests.diagnose.failure import call, case, failure, say, turn

PING = call("ping")


def limit(metric: str, most: float, **keys: float) -> dict[str, object]:
    return {metric: {"threshold": most, **keys}}


FAILURES = (
    failure(
        "no look-up",
        "AE113",
        "required_tools_v1",
        case(turn("A1?", say("Shipped."))),
        criteria={"required_tools_v1": {"threshold": 1.0, "tools": ["find_order"]}},
    ),
    failure(
        "one of two",
        "AE113",
        "required_tools_v1",
        case(turn("A1?", call("find_order"), say("Shipped."))),
        criteria={"required_tools_v1": {"threshold": 1.0, "tools": ["find_order", "check_user"]}},
    ),
    failure(
        "name with a slip",
        "AE113",
        "required_tools_v1",
        case(turn("A1?", call("find_order"), say("ok"))),
        criteria={"required_tools_v1": {"threshold": 1.0, "tools": ["find_ordr"]}},
    ),
    failure(
        "deletes",
        "AE114",
        "forbidden_tools_v1",
        case(turn("Clean up", call("delete_all"), say("Done."))),
        criteria={"forbidden_tools_v1": {"threshold": 1.0, "tools": ["delete_all"]}},
    ),
    failure(
        "pays in the second turn",
        "AE114",
        "forbidden_tools_v1",
        case(turn("Hi", say("Hi.")), turn("Buy it", call("pay", {"sum": 3}), say("Paid."))),
        criteria={"forbidden_tools_v1": {"threshold": 1.0, "tools": ["pay", "refund"]}},
    ),
    failure(
        "mails somebody",
        "AE114",
        "forbidden_tools_v1",
        case(
            turn("Tell Bob", call("find_user", {"n": "Bob"}), call("send_mail", {"to": "bob"}), say("Told."))
        ),
        criteria={"forbidden_tools_v1": {"threshold": 1.0, "tools": ["send_mail"]}},
    ),
    failure(
        "another currency",
        "AE115",
        "tool_args_v1",
        case(turn("Pay", call("pay", {"in": "XAU"}), say("ok"))),
        criteria={"tool_args_v1": {"threshold": 1.0, "tools": {"pay": {"in": {"$oneof": ["EUR", "USD"]}}}}},
    ),
    failure(
        "no reason given",
        "AE115",
        "tool_args_v1",
        case(turn("Refund", call("refund", {"id": 1}), say("ok"))),
        criteria={"tool_args_v1": {"threshold": 1.0, "tools": {"refund": {"reason": {"$type": "string"}}}}},
    ),
    failure(
        "too hot",
        "AE115",
        "tool_args_v1",
        case(
            turn("Warm", call("heat", {"c": 21}), say("ok")),
            turn("Warmer", call("heat", {"c": 90}), say("ok")),
        ),
        criteria={
            "tool_args_v1": {"threshold": 1.0, "tools": {"heat": {"c": {"$approx": 20, "tolerance": 5}}}}
        },
    ),
    failure(
        "many calls",
        "AE116",
        "max_tool_calls_v1",
        case(turn("Go", *[PING] * 6, say("ok"))),
        criteria=limit("max_tool_calls_v1", 3),
    ),
    failure(
        "long talk",
        "AE116",
        "max_turns_v1",
        case(turn("a", say("b")), turn("c", say("d")), turn("e", say("f"))),
        criteria=limit("max_turns_v1", 2),
    ),
    failure(
        "slow",
        "AE116",
        "max_duration_v1",
        case(turn("Go", {"wait": 0.02}, say("ok"))),
        criteria=limit("max_duration_v1", 0.001),
    ),
    failure(
        "nothing written",
        "AE117",
        "final_session_state_v1",
        case(turn("Upgrade me", say("Done.")), keys={"final_session_state": {"tier": "gold"}}),
    ),
    failure(
        "other value",
        "AE117",
        "final_session_state_v1",
        case(
            turn("Upgrade me", say("Done.")),
            state={"tier": "basic"},
            keys={"final_session_state": {"tier": "gold"}},
        ),
    ),
    failure(
        "more than allowed",
        "AE117",
        "final_session_state_v1",
        case(
            turn("Hi", say("Done.")),
            state={"tier": "gold", "debug": True},
            keys={"final_session_state": {"tier": "gold"}},
        ),
        criteria={"final_session_state_v1": {"threshold": 1.0, "match": "exact"}},
    ),
    failure(
        "no number in it",
        "AE214",
        "response_contains_v1",
        case(turn("Order?", say("It is on its way."))),
        criteria={"response_contains_v1": {"threshold": 1.0, "texts": ["A1"]}},
    ),
    failure(
        "in small letters",
        "AE214",
        "response_contains_v1",
        case(turn("Order?", say("order a1 is here"))),
        criteria={"response_contains_v1": {"threshold": 1.0, "texts": ["A1"], "case_sensitive": True}},
    ),
    failure(
        "no thanks",
        "AE214",
        "response_contains_v1",
        case(turn("Hi", say("Thank you for calling.")), turn("Bye", say("Bye."))),
        criteria={"response_contains_v1": {"threshold": 1.0, "texts": ["thank you"]}},
    ),
    failure(
        "no ticket",
        "AE215",
        "response_regex_v1",
        case(turn("Help", say("I opened a ticket."))),
        criteria={"response_regex_v1": {"threshold": 1.0, "pattern": r"\b[A-Z]{3}-\d+\b"}},
    ),
    failure(
        "case counts",
        "AE215",
        "response_regex_v1",
        case(turn("Help", say("Your Ticket is open."))),
        criteria={"response_regex_v1": {"threshold": 1.0, "pattern": "your ticket"}},
    ),
    failure(
        "over the line",
        "AE215",
        "response_regex_v1",
        case(turn("Help", say("Dear\nAda"))),
        criteria={"response_regex_v1": {"threshold": 1.0, "pattern": "Dear.Ada"}},
    ),
    failure(
        "prose for JSON",
        "AE216",
        "response_json_schema_v1",
        case(turn("Data", say("The name is Ada."))),
        criteria={"response_json_schema_v1": {"threshold": 1.0, "json_schema": {"type": "object"}}},
    ),
    failure(
        "words around JSON",
        "AE216",
        "response_json_schema_v1",
        case(turn("Data", say('Here you are: {"name": "Ada"}'))),
        criteria={"response_json_schema_v1": {"threshold": 1.0, "json_schema": {"type": "object"}}},
    ),
    failure(
        "age as text",
        "AE216",
        "response_json_schema_v1",
        case(turn("Data", say('{"age": "36"}'))),
        criteria={
            "response_json_schema_v1": {
                "threshold": 1.0,
                "json_schema": {"properties": {"age": {"type": "integer"}}},
            }
        },
    ),
    failure(
        "other total",
        "AE217",
        "response_numbers_v1",
        case(turn("Sum?", say("That makes 41 euros."), text="That is 42 euros.")),
    ),
    failure(
        "in words",
        "AE217",
        "response_numbers_v1",
        case(turn("How many?", say("There are three of them."), text="There are 3.")),
    ),
    failure(
        "one of two numbers",
        "AE217",
        "response_numbers_v1",
        case(turn("Range?", say("From 10 upwards."), text="From 10 to 20.")),
    ),
)
