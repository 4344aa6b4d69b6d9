"""Answers that are not the expected ones."""

from __future__ import annotations

from typing import Any

from tests.diagnose.failure import (
    MATCH,
    MEANING,
    TRAJECTORY,
    Failure,
    Step,
    call,
    case,
    failure,
    incident,
    say,
    turn,
)

M = MATCH
NO = {
    "status": "FAILED",
    "score": 0.0,
    "threshold": 0.8,
    "per_invocation": [{"score": 0.0, "status": "FAILED", "rationale": "They do not say the same."}],
}
YES = {
    "status": "PASSED",
    "score": 1.0,
    "threshold": 0.8,
    "per_invocation": [{"score": 1.0, "status": "PASSED"}],
}


def words(name: str, cause: str, answer: str, expected: str, *steps: Step, **keys: Any) -> Failure:
    """An answer and the expected one, under a threshold on common words."""
    one = case(turn("Tell me", *steps, say(answer), text=expected), **keys)
    return failure(name, cause, M, one, criteria={M: 0.8})


FAILURES = (
    # no reference
    failure(
        "tool calls only",
        "AE201",
        M,
        case(turn("A1?", call("find"), say("It has shipped."), calls=[("find", {})])),
    ),
    failure("empty text", "AE201", M, case(turn("A1?", say("It has shipped."), text=""))),
    failure(
        "second turn without",
        "AE201",
        M,
        case(turn("Hi", say("Hello."), text="Hello."), turn("A1?", say("It has shipped."))),
    ),
    # no answer
    failure("silent", "AE202", M, case(turn("A1?", text="It has shipped."))),
    failure(
        "ends with a tool",
        "AE202",
        M,
        case(turn("Draw it", call("draw", {"kind": "bar"}), text="Here is your chart.")),
    ),
    failure(
        "silent in the last turn",
        "AE202",
        M,
        case(turn("Hi", say("Hello."), text="Hello."), turn("A1?", text="It has shipped.")),
    ),
    failure(
        "nothing to contain",
        "AE202",
        "response_contains_v1",
        case(turn("A1?", call("find"))),
        criteria={"response_contains_v1": {"threshold": 1.0, "texts": ["A1"]}},
    ),
    # incidents
    failure(
        "cut off by its limit",
        "AE218",
        M,
        case(turn("A1?", incident("MAX_TOKENS", "It was"), text="It was sent to Rome on Monday.")),
    ),
    failure(
        "cut off before the first word",
        "AE218",
        M,
        case(turn("A1?", incident("MAX_TOKENS"), text="It was sent to Rome on Monday.")),
    ),
    failure(
        "blocked after a first sentence",
        "AE218",
        MEANING,
        case(
            turn("A1?", call("find"), incident("SAFETY", "Let me see."), text="It has shipped."),
            judged={MEANING: NO},
        ),
        criteria={MEANING: 0.8},
    ),
    failure(
        "tool never called as the model broke down",
        "AE218",
        TRAJECTORY,
        case(
            turn(
                "A1?",
                incident("UNAVAILABLE", message="The model is overloaded."),
                say("Sorry, try again later."),
                calls=[("find", {"order": "A1"})],
            )
        ),
    ),
    failure(
        "somebody broke in",
        "AE218",
        "response_contains_v1",
        case(turn("A1?", incident("", "It has", interrupted=True))),
        criteria={"response_contains_v1": {"threshold": 1.0, "texts": ["shipped"]}},
    ),
    # form
    failure("thousands", "AE203", M, case(turn("Price?", say("10,000"), text="10000"))),
    failure(
        "hyphens",
        "AE203",
        M,
        case(turn("How?", say("re-entry e-mail follow-up"), text="reentry email followup")),
    ),
    failure(
        "links",
        "AE203",
        M,
        case(
            turn(
                "Docs?",
                say("See [the guide](https://example.org/a/very/long/path/to/it)."),
                text="See the guide.",
            )
        ),
    ),
    failure("dotted", "AE203", M, case(turn("Where?", say("U.S.A."), text="USA"))),
    failure(
        "shouting under a metric of its own",
        "AE203",
        "same_text",
        case(turn("Where?", say("PARIS!"), text="Paris")),
        criteria={"same_text": 1.0},
        custom_metrics={"same_text": {"code_config": {"name": "tests.diagnose.labelled.metrics.same_text"}}},
    ),
    # language
    words(
        "Spanish",
        "AE204",
        "El pedido está en camino y llega el lunes por la tarde.",
        "The order is on its way and will be with you on Monday afternoon.",
    ),
    words(
        "German",
        "AE204",
        "Die Bestellung ist unterwegs und wird am Montag mit der Post zu Ihnen kommen.",
        "The order is on its way and will be with you on Monday.",
    ),
    words("Cyrillic", "AE204", "Заказ отправлен и прибудет в понедельник.", "The order has been sent."),
    words("Japanese", "AE204", "請求書は送付済みです", "The invoice has been sent."),
    # asks back
    words("which order", "AE205", "Which order do you mean?", "Your order has shipped."),
    words("which size", "AE205", "I can do that. What size would you like?", "I added the shirt in medium."),
    words("sure?", "AE205", "This cannot be undone. Are you sure?", "The account is closed."),
    # declines
    words("cannot", "AE206", "I'm sorry, I can't help with that.", "The account was closed."),
    words(
        "no access", "AE206", "Unfortunately, I do not have access to order data.", "The order has shipped."
    ),
    words("unable", "AE206", "I am unable to find this information.", "The shop opens at nine."),
    # made up
    words(
        "invented price",
        "AE207",
        "It costs 59 euros.",
        "It costs 49 euros.",
        call("price", {"item": "lamp"}, {"price": 49}),
    ),
    words(
        "invented carrier",
        "AE207",
        "It was sent with Hermes yesterday and is on the way.",
        "It was sent yesterday.",
        call("find", {}, {"status": "sent yesterday"}),
    ),
    words(
        "invented date",
        "AE207",
        "Your parcel with two books will arrive on 17 March.",
        "Your parcel will arrive soon.",
        call("find", {}, {"eta": "soon", "items": 2}),
    ),
    words(
        "invented id",
        "AE207",
        "I opened the ticket T-9911 for you.",
        "I opened a ticket.",
        call("open_ticket", {}, {"ok": True}),
    ),
    # out of date
    words(
        "price went up",
        "AE208",
        "It costs 59 euros.",
        "It costs 49 euros.",
        call("price", {"item": "lamp"}, {"price": 59}),
    ),
    words(
        "other weather",
        "AE208",
        "Oslo has 7 degrees and rain.",
        "Oslo has -2 degrees and snow.",
        call("forecast", {"city": "Oslo"}, {"sky": "rain", "high": 7}),
    ),
    words(
        "new opening hours",
        "AE208",
        "The shop is open from 9 to 17.",
        "The shop is open from 8 to 16.",
        call("hours", {}, {"open": 9, "close": 17}),
    ),
    # less
    words("one word", "AE209", "Shipped.", "The order has shipped and will arrive in a few days."),
    words(
        "half of it",
        "AE209",
        "The order has shipped.",
        "The order has shipped. You can follow it on the page of the carrier with the number in the mail.",
    ),
    words(
        "without the date",
        "AE209",
        "Order A1 has shipped.",
        "Order A1 has shipped and arrives on 5 May with DHL.",
        call("find", {"id": "A1"}, {"status": "shipped", "eta": "5 May", "carrier": "DHL"}),
    ),
    # other facts
    words(
        "other name",
        "AE210",
        "Hello Bob, nice to see you again in the shop.",
        "Hello Ada, how can I help you?",
    ),
    words(
        "no number",
        "AE210",
        "There are some of these lamps left in the shop.",
        "There are 12 lamps in stock.",
    ),
    words(
        "leaves the time out",
        "AE210",
        "The train to the north goes from the main station today.",
        "The train leaves at 10:45 from platform 3.",
        call("trains", {}, {"time": "10:45", "platform": 3}),
    ),
    # more
    words(
        "talks on",
        "AE211",
        "Of course! I have looked it up for you. The order has shipped. If there is anything that I can do, "
        "do not hesitate to tell me, I am always happy to be of service.",
        "The order has shipped.",
    ),
    words(
        "explains",
        "AE211",
        "Paris. It has been the seat of most governments since the Middle Ages and lies on the river there.",
        "Paris",
    ),
    words(
        "repeats the question",
        "AE211",
        "You wanted to know whether the shop is open on holidays and what to do if it is closed. "
        "The shop is open.",
        "The shop is open.",
    ),
    # the same in other words
    words("on its way", "AE212", "A1 is on its way to you.", "Order A1 was dispatched."),
    words(
        "price said otherwise",
        "AE212",
        "You would pay 49 euros.",
        "The price of this lamp is 49 euros.",
        call("price", {}, {"price": 49}),
    ),
    words(
        "synonyms with a date",
        "AE212",
        "Expect it around 5 May.",
        "Delivery is planned for 5 May.",
        call("find", {}, {"eta": "5 May"}),
    ),
    words(
        "a judge agrees", "AE212", "Consider it done.", "The booking was cancelled.", judged={MEANING: YES}
    ),
    # something else
    words("about something else", "AE213", "We sell lamps and chairs.", "The order has shipped."),
    words("opposite", "AE213", "The order was cancelled.", "The order has shipped."),
    words("Russian, half", "AE213", "Заказ отправлен", "Заказ отменён"),
    # judged by meaning
    failure(
        "made up, and judged so",
        "AE207",
        MEANING,
        case(
            turn("Price?", call("price", {}, {"price": 49}), say("It costs 59."), text="It costs 49."),
            judged={MEANING: NO},
        ),
    ),
    failure(
        "silent, and judged so",
        "AE202",
        MEANING,
        case(turn("Price?", call("price", {}, {"price": 49}), text="It costs 49."), judged={MEANING: NO}),
    ),
    failure(
        "asks back, and judged so",
        "AE205",
        MEANING,
        case(turn("Price?", say("Of which lamp?"), text="It costs 49."), judged={MEANING: NO}),
    ),
)
