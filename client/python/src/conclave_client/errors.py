"""Errors that a server answers with."""

from __future__ import annotations

import json
from typing import Any

import httpx


class Problem(Exception):
    """An error answer (RFC 9457). code is stable and made for programs, detail for people."""

    def __init__(self, status: int, body: dict[str, Any], retry_after: float | None = None) -> None:
        self.status = status
        self.code: str = body.get("code", "")
        self.detail: str = body.get("detail", "")
        self.request_id: str = body.get("request_id", "")
        self.errors: list[dict[str, str]] = body.get("errors", [])
        self.retry_after = retry_after
        super().__init__(f"{status} {self.code}: {self.detail}")

    @classmethod
    def of(cls, response: httpx.Response) -> Problem:
        """The problem of an error answer, also of one that a proxy gave."""
        try:
            body = json.loads(response.content)
        except ValueError:
            body = None
        if not isinstance(body, dict) or "detail" not in body:
            body = {"detail": response.text[:200]}
        seconds = response.headers.get("retry-after", "")
        return cls(response.status_code, body, float(seconds) if seconds.isdecimal() else None)
