"""Questions why an event was scored as it was, which a process of its own answers: as JSON, or as the page of
`keat explain` with its slider."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from keat.serve.beside_service import begun, said
from keat.serve.engine import Engine
from keat.serve.page_routes import explanation_policy
from keat.serve.refusals import RefusedError

SECONDS = 120


class ExplainRequests:
    """Answered one at a time: each is a process that makes a state."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self._one = engine, asyncio.Lock()

    async def as_json(self, request: Request) -> Response:
        return Response(await self._said(request, "explain"), media_type="application/json")

    async def as_page(self, request: Request) -> Response:
        found: dict[str, Any] = msgspec.json.decode(await self._said(request, "explain-page"))
        headers = {"content-security-policy": explanation_policy()}
        return Response(found["page"], media_type="text/html", headers=headers)

    async def _said(self, request: Request, verb: str) -> bytes:
        text, last = request.path_params["seq"], self.engine.log.tail.event
        if not text.isascii() or not text.isdecimal() or len(text) > 18 or not 1 <= int(text) <= last:
            raise RefusedError(404, f"There is no event '{text[:20]}'; the log has events 1 to {last:,}.")
        async with self._one:
            process = await begun(self.engine, verb, text)
            try:
                content = await said(process, SECONDS)
            except TimeoutError:
                raise RefusedError(503, f"It takes more than {SECONDS} s to explain; try later.") from None
        found = msgspec.json.decode(content or b'{"error": "The explanation failed; see the log."}')
        if "error" in found:
            raise RefusedError(422, found["error"])
        return content
