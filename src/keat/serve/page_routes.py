"""The page of a service at `/`, and the style and programs it loads: files of this package, the same for all.

A browser may load from here what the page itself loads, and nothing else. An explanation is shown in a frame
without rights, as the page that `keat explain` writes; its one program and its style are allowed by their
hashes, since a frame inherits what the page around it may do. Widths of its bars are attributes, which is why
those may have style.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Awaitable, Callable
from functools import cache

from starlette.requests import Request
from starlette.responses import Response

from keat.report.explained.explained_document import STYLE
from keat.report.explained.explained_page import slider
from keat.report.html.document import asset, style_of

PAGE = "/"
FILES = {
    "/page/live.css": ("text/css", ("base.css", "live.css")),
    "/page/live.js": ("text/javascript", ("live.js",)),
    "/page/live_charts.js": ("text/javascript", ("live_charts.js",)),
    "/page/live_feed.js": ("text/javascript", ("live_feed.js",)),
    "/page/live_why.js": ("text/javascript", ("live_why.js",)),
}
OPEN = frozenset({PAGE, *FILES})  # what needs no token: it tells nothing of the run
Handler = Callable[[Request], Awaitable[Response]]


def page_routes() -> dict[str, Handler]:
    """What is at each address of the page."""
    return {PAGE: _page, **{path: _file(kind, names) for path, (kind, names) in FILES.items()}}


async def _page(request: Request) -> Response:  # noqa: ARG001
    headers = {"content-security-policy": policy()}
    return Response(asset("live.html"), media_type="text/html", headers=headers)


def _file(kind: str, names: tuple[str, ...]) -> Handler:
    async def file(request: Request) -> Response:  # noqa: ARG001
        return Response("".join(asset(name) for name in names), media_type=kind)

    return file


@cache
def policy() -> str:
    """What a browser lets the page do."""
    return _policy("'self' ", "connect-src 'self'")


@cache
def explanation_policy() -> str:
    """What a browser lets an explanation do that is opened by its address: it has no rights there, too."""
    return _policy("", "sandbox allow-scripts")


def _policy(own: str, more: str) -> str:
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {own}{_hash(slider())}",
            f"style-src {own}{_hash(style_of(STYLE))}",
            "style-src-attr 'unsafe-inline'",
            more,
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
