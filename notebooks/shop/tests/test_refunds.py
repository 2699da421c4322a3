"""Refunds: a paid order is paid back once."""

from datetime import date
from typing import Any

from shop.orders import Order
from shop.refunds import may_return, refund


def test_a_purchase_can_be_given_back_for_thirty_days() -> None:
    """The last day counts."""
    assert may_return(date(2024, 1, 1), date(2024, 1, 31))
    assert not may_return(date(2024, 1, 1), date(2024, 2, 1))


def test_a_paid_order_is_refunded(gateway: Any) -> None:
    """The order is closed afterwards."""
    order = Order("1", "Ada", state="paid")
    refund(order, "reference", gateway)
    assert order.state == "refunded"
