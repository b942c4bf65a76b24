"""Routes that read and change nothing: scores of pairs, and who is likely."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from keat.errors import InputError
from keat.serve.batching import Batcher
from keat.serve.events import Pair, RankQuestion
from keat.serve.limits import Limits
from keat.serve.reading import objects
from keat.serve.requests import JSON, body_of, flag

QUESTIONS = 100  # of one request
_encode = msgspec.json.Encoder().encode


class QuestionRoutes:
    """Questions are asked between two batches, so the state stands still meanwhile."""

    def __init__(self, batcher: Batcher, limits: Limits) -> None:
        self._engine, self._batcher, self._limits = batcher.engine, batcher, limits

    async def score(self, request: Request) -> Response:
        why = flag(request, "reasons")
        body, form = await body_of(request, self._limits)
        pairs, single = objects(Pair, body, form, self._limits.pairs, "pairs")
        engine, read = self._engine, self._engine.checker
        source = [read.ids.read(pair.source) for pair in pairs]
        destination = [read.ids.read(pair.destination) for pair in pairs]
        times = [None if pair.time is None else read.time(pair.time) for pair in pairs]
        encoded = engine.judge.features([pair.features for pair in pairs])
        async with self._batcher.between:
            self._batcher.require_state()
            scored = engine.judge.score(source, destination, times, encoded, why)
        about = {"model": engine.served.fingerprint, "seq": engine.log.tail.event}
        if single:
            return Response(_encode(about | msgspec.to_builtins(scored[0])), media_type=JSON)
        return Response(_encode(about | {"pairs": scored}), media_type=JSON)

    async def rank(self, request: Request) -> Response:
        body, form = await body_of(request, self._limits)
        questions, single = objects(RankQuestion, body, form, QUESTIONS, "questions")
        engine, read, most = self._engine, self._engine.checker, self._limits.pairs
        found = []
        for question in questions:
            candidates = question.candidates
            if candidates is not None and not 0 < len(candidates) <= most:
                raise InputError(f"Give 1 to {most:,} candidates, or none for all.")
            asked = (
                read.ids.read(question.source),
                None if candidates is None else [read.ids.read(one) for one in dict.fromkeys(candidates)],
                None if question.time is None else read.time(question.time),
                question.top,
            )
            async with self._batcher.between:
                self._batcher.require_state()
                found.append(engine.judge.rank(*asked, engine.log.tail.event))
        return Response(_encode(found[0] if single else found), media_type=JSON)
