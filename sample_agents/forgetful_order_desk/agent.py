"""Answers from memory now and then, instead of looking the order up: about once in five runs.

Its answers read the same either way, so that a single run rarely shows it.
"""

from __future__ import annotations

import re

from agent_eval import Content, Session

ORDERS = {"A1": "shipped", "B2": "packed"}
FORGETS = 0.2


def look_up_order(order_id: str) -> dict[str, str]:
    """The status of an order."""
    return {"order_id": order_id, "status": ORDERS[order_id]}


async def root_agent(message: Content, session: Session) -> str:
    order_id = re.findall(r"[A-Z]\d", message.text)[0]
    if session.random.random() < FORGETS:
        status = ORDERS[order_id]
    else:
        status = (await session.call_tool(look_up_order, order_id=order_id))["status"]
    return f"Order {order_id} is {status}."
