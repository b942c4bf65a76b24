"""Who may come in: on this machine everybody, from elsewhere those with the token. Every answer leaves with
headers that forbid a browser to make more of it than it is."""

from __future__ import annotations

import hmac

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keat.errors import InputError
from keat.serve.page_routes import OPEN as PAGE_OPEN

LOOPBACK = ("127.0.0.1", "::1", "localhost")
HEADERS = [
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]
OPEN = frozenset({"/healthz"}) | PAGE_OPEN  # what needs no token
SHORTEST = 16  # characters of a token


def require_closed(host: str, token: str | None) -> None:
    """An address that others can reach needs a token."""
    if token is not None and (len(token) < SHORTEST or not token.isascii() or not token.isprintable()):
        raise InputError(f"A token has at least {SHORTEST} plain characters; make a longer one.")
    if host not in LOOPBACK and token is None:
        raise InputError(
            f"{host} can be reached by others; give a token (--token, or KEAT_TOKEN in the environment), or "
            "serve on 127.0.0.1."
        )


class Door:
    """Looks at a request before anything of it is read."""

    def __init__(self, app: ASGIApp, host: str, token: str | None) -> None:
        self.app, self._token = app, None if token is None else f"Bearer {token}".encode()
        self._local = host in LOOPBACK

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_closed(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in message["headers"]}
                more = [header for header in HEADERS if header[0] not in own]
                message["headers"] = [*message["headers"], *more]
            await send(message)

        found = self.refused(dict(scope["headers"]), scope["path"])
        if found is None:
            await self.app(scope, receive, _as_json(send_closed))
            return
        status, sentence, more = found
        body = msgspec.json.encode({"error": sentence})
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            *more,
        ]
        await send_closed({"type": "http.response.start", "status": status, "headers": headers})
        await send_closed({"type": "http.response.body", "body": body})

    def refused(
        self, headers: dict[bytes, bytes], path: str
    ) -> tuple[int, str, list[tuple[bytes, bytes]]] | None:
        """Status, sentence and headers for one who may not come in."""
        if self._token is not None and path not in OPEN:
            given = headers.get(b"authorization", b"")
            if not given:
                sentence = "This service needs a token; send it as 'Authorization: Bearer TOKEN'."
                return 401, sentence, [(b"www-authenticate", b"Bearer")]
            if not hmac.compare_digest(given, self._token):
                return 403, "This is not the token of this service; check it.", []
        if self._local and self._token is None:
            name = headers.get(b"host", b"").decode("latin-1")
            name = name[1:].partition("]")[0] if name.startswith("[") else name.partition(":")[0]
            if name not in LOOPBACK:  # a page that has its own name lead here
                return 421, "This service answers on this machine alone; ask it at 127.0.0.1.", []
        return None


def _as_json(send: Send) -> Send:
    """What Starlette itself says of a path or a method that is none, as JSON."""
    status = 200

    async def sent(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status, headers = message["status"], message["headers"]
            if (b"content-type", b"text/plain; charset=utf-8") in headers and status in (404, 405):
                body = msgspec.json.encode({"error": _SAID[status]})
                kept = [(name, value) for name, value in headers if not name.startswith(b"content-")]
                kept += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
                await send({"type": "http.response.start", "status": status, "headers": kept})
                await send({"type": "http.response.body", "body": body})
                status = 0
                return
        if status:
            await send(message)

    return sent


_SAID = {
    404: "There is nothing at this address; see /openapi.json for what there is.",
    405: "This address is asked in another way; see /openapi.json for how.",
}
