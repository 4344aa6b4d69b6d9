"""The orders of one session, and the tools that read and change them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

Order = dict[str, Any]

ORDERS: dict[str, Order] = {
    "OD-1001": {"item": "desk lamp", "status": "processing", "total": 39.9, "refunded": 0.0},
    "OD-1002": {"item": "standing desk", "status": "shipped", "total": 420.0, "refunded": 0.0},
    "OD-1003": {"item": "office chair", "status": "delivered", "total": 189.5, "refunded": 0.0},
    "OD-1004": {"item": "desk mat", "status": "cancelled", "total": 24.0, "refunded": 0.0},
}
"""What every session starts from, unless its state brings orders of its own."""


class OrderBook:
    """Orders kept in the session's state, so that no run sees what another one changed."""

    def __init__(self, state: dict[str, Any]) -> None:
        self._orders: dict[str, Order] = state.setdefault("orders", deepcopy(ORDERS))

    def look_up_order(self, order_id: str) -> Order:
        """Item, status, total and refunded amount of an order."""
        order = self._orders.get(order_id)
        return {"found": True, **order} if order else {"found": False}

    def cancel_order(self, order_id: str) -> dict[str, str]:
        """Cancels an order that is still being processed."""
        order = self._orders[order_id]
        if order["status"] != "processing":
            return {"error": f"{order_id} is {order['status']}"}
        order["status"] = "cancelled"
        return {"status": "cancelled"}

    def refund_order(self, order_id: str, amount: float) -> dict[str, Any]:
        """Pays back all or a part of a delivered order's total."""
        order = self._orders[order_id]
        if order["status"] != "delivered" or not 0 < amount <= round(order["total"] - order["refunded"], 2):
            return {"error": f"{amount:.2f} cannot be refunded on {order_id}"}
        order["refunded"] = round(order["refunded"] + amount, 2)
        return {"status": "refunded", "amount": amount}
