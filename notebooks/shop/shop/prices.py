"""Taxes and discounts."""

from __future__ import annotations

from shop.orders import Order

TAX_PERCENT = {"DE": 19, "FR": 20, "NL": 21}


def with_tax(cents: int, country: str) -> int:
    """Return a price with the country's value added tax, rounded half up."""
    percent = TAX_PERCENT[country]
    return cents + (cents * percent + 50) // 100


def discount(order: Order, voucher: str | None) -> int:
    """Return the cents that a voucher takes off, never more than the total."""
    if voucher is None:
        return 0
    if voucher.startswith("TEN"):
        return order.total() // 10
    return min(500, order.total())
