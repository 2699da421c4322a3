"""The bank's side of a payment."""

from __future__ import annotations

import httpx

from shop.payments.retry import with_retries


class Gateway:
    """Speaks to the bank."""

    def __init__(self, address: str) -> None:
        self._client = httpx.Client(base_url=address, timeout=5.0)

    def charge(self, order_number: str, cents: int) -> str:
        """Take money, and return the bank's reference. The order's number keeps a repeated call from paying twice."""
        return with_retries(lambda: self._send("/charges", order_number, cents))

    def pay_back(self, reference: str, cents: int) -> str:
        """Send money back to where a charge came from."""
        return with_retries(lambda: self._send("/refunds", reference, cents))

    def _send(self, path: str, key: str, cents: int) -> str:
        answer = self._client.post(path, json={"amount": cents}, headers={"Idempotency-Key": key})
        answer.raise_for_status()
        return str(answer.json()["reference"])
