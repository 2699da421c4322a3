"""Letters to customers."""

from __future__ import annotations

from shop.orders import Order


def thank_you(order: Order, language: str = "en") -> str:
    """Return the text that a customer gets after paying."""
    greeting = {"en": "Thank you", "de": "Vielen Dank", "fr": "Merci"}[language]
    return f"{greeting}, {order.customer}! Order {order.number} is on its way."
