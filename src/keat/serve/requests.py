"""What a request says: its body, in which form that is, and what is asked for in its address."""

from __future__ import annotations

from starlette.requests import Request

from keat.errors import InputError
from keat.serve.limits import Limits
from keat.serve.micro_batch import Wanted
from keat.serve.reading import FORMS, Form, TooLargeError
from keat.serve.refusals import RefusedError

JSON, NDJSON = "application/json", "application/x-ndjson"


async def body_of(request: Request, limits: Limits) -> tuple[bytes, Form]:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in FORMS:
        raise RefusedError(415, f"Send {JSON} or {NDJSON}, and say so in Content-Type.")
    most = limits.body
    too_large = f"The body is larger than {most:,} bytes; send it in parts."
    length = request.headers.get("content-length", "0")
    if length.isdecimal() and int(length) > most:
        raise TooLargeError(too_large)
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise TooLargeError(too_large)
        parts.append(part)
    return b"".join(parts), FORMS[kind]


def wanted_in(request: Request) -> Wanted:
    return Wanted(flag(request, "rank"), flag(request, "reasons"))


def flag(request: Request, name: str) -> bool:
    """Whether something is asked for in the address, as in ?rank=true."""
    if not request.url.query:
        return False
    for given in request.query_params:
        if given not in ("rank", "reasons"):
            raise InputError(f"There is no '{given[:40]}' to ask for; ask for rank or reasons.")
    value = request.query_params.get(name, "false")
    if value not in ("true", "false", "1", "0"):
        raise InputError(f"'{name}' is true or false, not '{value[:40]}'.")
    return value in ("true", "1")
