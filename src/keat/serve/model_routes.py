"""Routes of the models of a service: one is loaded beside the present, compared, and exchanged for it."""

from __future__ import annotations

import asyncio
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from keat.errors import InputError, KeatError, unknown_name
from keat.serve.reading import objects
from keat.serve.refusals import RefusedError
from keat.serve.requests import JSON, body_of
from keat.serve.served_run import kept_model
from keat.serve.swapping import Shadow, ShadowReport, catch_up, open_beside

if TYPE_CHECKING:
    from keat.serve.gateway import Gateway


class ModelOrder(msgspec.Struct, forbid_unknown_fields=True):
    """What is to be done: ``load`` a run, by its name in the folder of models or by the fingerprint of a
    model that answered before; ``switch`` to it, or back; ``drop`` it."""

    do: Literal["load", "switch", "drop"]
    run: str | None = None


class ModelsReport(msgspec.Struct):
    """Which model answers, and which is beside it."""

    model: str  # the fingerprint of the one that answers
    answered: list[str]  # fingerprints of all that did, in their order
    runs: list[str]  # those that can be loaded
    loading: str | None  # the run that is being loaded
    trouble: str | None  # why the last could not be loaded
    shadow: ShadowReport | None


class ModelRoutes:
    """The models of one service."""

    def __init__(self, gateway: Gateway, folder: Path | None) -> None:
        """``folder`` is the one whose runs may be loaded; nothing else that a client names is opened."""
        self._gateway, self._engine, self._folder = gateway, gateway.engine, folder
        self._loading: tuple[str, asyncio.Task[None]] | None = None
        self._trouble: str | None = None

    def report(self) -> ModelsReport:
        engine, shadow = self._engine, self._engine.shadow
        return ModelsReport(
            engine.served.fingerprint,
            [name for name, _ in groupby(one.fingerprint for one in engine.models)],
            self._runs(),
            None if self._loading is None else self._loading[0],
            self._trouble,
            None if shadow is None else shadow.report(engine.watch.labels_events),
        )

    async def show(self, request: Request) -> Response:  # noqa: ARG002
        return self._answer()

    async def order(self, request: Request) -> Response:
        body, form = await body_of(request, self._gateway.service.limits)
        (order, *more), _ = objects(ModelOrder, body, form, 1, "orders")
        assert not more
        if order.do == "load":
            self._load(order.run)
            return self._answer()
        if order.run is not None:
            raise InputError(f"To {order.do}, leave out the run: it is the one that is loaded.")
        if self._loading is not None:
            raise RefusedError(409, f"{self._loading[0]} is still being loaded; ask again once it is.")
        async with self._gateway.batcher.between:
            self._gateway.batcher.require_state()
            if order.do == "switch":
                await asyncio.get_running_loop().run_in_executor(None, self._engine.switch)
            else:
                self._engine.shadow = None
        return self._answer()

    def stop(self) -> None:
        if self._loading is not None:
            self._loading[1].cancel()

    def _answer(self) -> Response:
        return Response(msgspec.json.encode(self.report()), media_type=JSON)

    def _runs(self) -> list[str]:
        if self._folder is None:
            return []
        return sorted(path.parent.name for path in self._folder.glob("*/run.json"))

    def _load(self, name: str | None) -> None:
        """Begin to load a run; in another thread, while events are taken."""
        if self._loading is not None:
            raise RefusedError(409, f"{self._loading[0]} is being loaded already; wait for it.")
        if name is None:
            raise InputError("Name the run to load.")
        self._trouble = None
        self._loading = name, asyncio.create_task(self._load_beside(name, self._place_of(name)))

    def _place_of(self, name: str) -> Path:
        engine, runs = self._engine, self._runs()
        if name == engine.base.fingerprint:
            return engine.base.run.folder
        if name in [one.fingerprint for one in engine.models]:
            return kept_model(engine.folder, name)
        if self._folder is None:
            raise InputError("No folder of models was given; start the service with --models FOLDER.")
        if name not in runs:  # so that it is a name in the folder, and no path
            raise unknown_name("run in the folder of models", name[:100], runs)
        return self._folder / name

    async def _load_beside(self, name: str, place: Path) -> None:
        engine, loop = self._engine, asyncio.get_running_loop()
        try:
            opened = loop.run_in_executor(None, open_beside, engine.base, engine.folder, place)
            model, ids, tail = await opened
            async with self._gateway.batcher.between:  # the few rows that came meanwhile
                if model.fingerprint == engine.served.fingerprint:
                    raise InputError("This is the model that answers already.")
                catch_up(model, engine.log, ids, tail)
                engine.shadow = Shadow(model, name)
        except KeatError as error:
            self._trouble = str(error)
        finally:
            self._loading = None
