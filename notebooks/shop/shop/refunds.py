"""Giving money back."""

from __future__ import annotations

from datetime import date, timedelta

from shop.orders import Order
from shop.payments.gateway import Gateway

RETURN_DAYS = 30


def may_return(bought: date, today: date) -> bool:
    """Say whether a purchase is recent enough to be given back."""
    return today - bought <= timedelta(days=RETURN_DAYS)


def refund(order: Order, reference: str, gateway: Gateway) -> str:
    """Pay a whole order back and close it."""
    if order.state != "paid":
        raise ValueError("only a paid order is refunded")
    receipt = gateway.pay_back(reference, order.total())
    order.state = "refunded"
    return receipt
