"""An async agent: a plain function that awaits its tools and returns its answer."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent_eval import Content, Session

from .orders import Order, OrderBook

ORDER_ID = re.compile(r"\b[A-Z]{2}-\d{4}\b", re.IGNORECASE)
AMOUNT = re.compile(r"\$\s?(\d+(?:\.\d\d?)?)|(\d+(?:\.\d\d?)?)\s?(?:dollars|usd)", re.IGNORECASE)
REPEAT = re.compile(r"\b(?:repeat|say that again|pardon)\b", re.IGNORECASE)
INTENTS = {
    "cancel": re.compile(r"\bcancel\b", re.IGNORECASE),
    "refund": re.compile(r"\b(?:refund|money back)\b", re.IGNORECASE),
    "status": re.compile(r"\b(?:where|when|status|track|look up|check)\b", re.IGNORECASE),
}
"""The first that matches wins."""

HELP = "I can look up, cancel and refund orders. Which order is it about? Its number looks like OD-1001."


async def root_agent(message: Content, session: Session) -> str:
    """Answers one turn.

    An intent waits in the session's state until the order's number is known, and the number stays
    there for the turns that say only "it".
    """
    text, state = message.text, session.state
    if REPEAT.search(text):
        return _last_answer(session)
    given = ORDER_ID.search(text)
    if given:
        state["order_id"] = given.group().upper()
    intent = _intent(text) or state.get("intent") or ("status" if given else None)
    if intent and "order_id" in state:
        state["intent"] = None
        desk = Desk(session, OrderBook(state), state["order_id"])
        return await desk.answer(intent, _amount(text))
    state["intent"] = intent
    return f"Which order shall I {intent}?" if intent in ("cancel", "refund") else HELP


@dataclass(frozen=True)
class Desk:
    """The desk with one order's number before it."""

    session: Session
    book: OrderBook
    order_id: str

    async def answer(self, intent: str, amount: float | None) -> str:
        """Looks the order up, then does what is asked if the order allows it."""
        order = await self.session.call_tool(self.book.look_up_order, order_id=self.order_id)
        if not order["found"]:
            return f"I cannot find an order {self.order_id}. Please check the number."
        if intent == "cancel":
            return await self.cancel(order)
        if intent == "refund":
            return await self.refund(order, amount)
        goods = f"one {order['item']} for ${order['total']:.2f}"
        paid_back = f" ${order['refunded']:.2f} were refunded." if order["refunded"] else ""
        return f"Order {self.order_id}, {goods}, is {order['status']}.{paid_back}"

    async def cancel(self, order: Order) -> str:
        if order["status"] == "cancelled":
            return f"Order {self.order_id} is already cancelled."
        if order["status"] != "processing":
            return f"Order {self.order_id} is already {order['status']}, so I cannot cancel it any more."
        done = await self.session.call_tool(self.book.cancel_order, order_id=self.order_id)
        if "error" in done:
            return f"I could not cancel order {self.order_id}: {done['error']}."
        return f"I cancelled order {self.order_id}, one {order['item']}. You will not be charged."

    async def refund(self, order: Order, amount: float | None) -> str:
        if order["status"] != "delivered":
            return f"Order {self.order_id} is {order['status']}. I only refund orders that were delivered."
        left = round(order["total"] - order["refunded"], 2)
        if left == 0:
            return f"Order {self.order_id} is already refunded in full."
        wanted = left if amount is None else amount
        if not 0 < wanted <= left:
            return f"I can refund at most ${left:.2f} on order {self.order_id}."
        done = await self.session.call_tool(self.book.refund_order, order_id=self.order_id, amount=wanted)
        if "error" in done:
            return f"I could not refund order {self.order_id}: {done['error']}."
        return f"I refunded ${wanted:.2f} on order {self.order_id}, one {order['item']}."


def _intent(text: str) -> str | None:
    return next((intent for intent, pattern in INTENTS.items() if pattern.search(text)), None)


def _amount(text: str) -> float | None:
    found = AMOUNT.search(text)
    return float(found[1] or found[2]) if found else None


def _last_answer(session: Session) -> str:
    answer = session.history[-1].final_response if session.history else None
    return answer.text if answer else HELP
