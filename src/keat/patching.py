"""KEAT in a PyTorch Geometric model: ``patch`` puts ψ(Δ) on its edge parts, ``unpatch`` takes it off.

The edge part of the four layers named below is a linear map without bias, so W(ψe) = ψ·We: scaling
``edge_attr`` on its way into the layer is exactly kernelized edge attention, and the layer's own code and
weights stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from inspect import Parameter, Signature, signature
from typing import Any, TypeAlias, TypeVar

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from keat.errors import InputError, MissingExtraError, unknown_name
from keat.kernels import Kernel

Model = TypeVar("Model", bound=nn.Module)
Delta: TypeAlias = str | Callable[..., Tensor]

EXACT = ("TransformerConv", "GATConv", "GATv2Conv", "RGATConv")
INEXACT = {  # why ψ·edge_attr would not be "node part + ψ · edge part" of an attention
    "GINEConv": "it adds edge_attr inside a ReLU, not in an attention",
    "GENConv": "it adds edge_attr inside a ReLU, not in an attention",
    "GeneralConv": "it projects edge_attr with a bias, which ψ must not scale",
    "PNAConv": "it encodes edge_attr with a bias, which ψ must not scale",
    "CGConv": "it gates with edge_attr instead of attending",
    "ResGatedGraphConv": "it gates with edge_attr instead of attending",
    "NNConv": "it makes a weight matrix of edge_attr by a network, which is not linear",
    "PDNConv": "it makes an edge weight of edge_attr by a network, which is not linear",
    "GMMConv": "it reads edge_attr as coordinates, not as evidence",
    "SplineConv": "it reads edge_attr as coordinates, not as evidence",
    "HEATConv": "it has edge types beside edge_attr, which would not fade with it",
}
MARK = "_keat_patch"  # the attribute by which a patched module is known
KERNEL = "keat_kernel"  # where a kernel that learns is registered


def patch(model: Model, kernel: Kernel, *, delta: Delta) -> Model:
    """Multiply the edge part of every attention layer in ``model`` by ψ(Δ); in place, returns the model.

    ``delta`` tells the ages, one for each edge, from the arguments of ``model.forward``: the name of the
    argument that holds them, or a function of those arguments that it names, such as
    ``lambda last_update, edge_index, t: last_update[edge_index[0]] - t``.

    ``state_dict`` stays as it is, but for a kernel that learns: its parameters become ``model.keat_kernel``,
    where optimizers and checkpoints find them. A layer for which scaling is not exact is refused.
    """
    layers = _layers(model)
    _check_kernel(kernel)
    _check_arguments(_wanted(delta), model)
    Patch(kernel, delta).apply(model, layers)
    return model


def unpatch(model: Model) -> Model:
    """Undo every patch that reaches into ``model``; in place, returns the model."""
    patches = {getattr(module, MARK) for module in model.modules() if hasattr(module, MARK)}
    if not patches:
        raise InputError(f"{type(model).__name__} is not patched, so there is nothing to undo.")
    for one in patches:
        one.undo()
    return model


class Patch:
    """One call of ``patch``: ψ of the forward under way, and the hooks that take it from model to layers."""

    def __init__(self, kernel: Kernel, delta: Delta) -> None:
        self.kernel = kernel
        self.delta = delta
        self.psi: Tensor | None = None  # (E, 1), while the model's forward runs
        self.hooks: list[RemovableHandle] = []
        self.marked: list[nn.Module] = []
        self.registered_in: nn.Module | None = None

    def apply(self, model: nn.Module, layers: list[nn.Module]) -> None:
        self.hooks = [  # the model's first: the model may be the layer itself
            model.register_forward_pre_hook(self.before_model, with_kwargs=True),
            model.register_forward_hook(self.after_model, always_call=True),
            *(layer.register_forward_pre_hook(self.before_layer, with_kwargs=True) for layer in layers),
        ]
        self.marked = list(dict.fromkeys([model, *layers]))
        for module in self.marked:
            setattr(module, MARK, self)
        if list(self.kernel.parameters()):
            model.add_module(KERNEL, self.kernel)
            self.registered_in = model

    def undo(self) -> None:
        for hook in self.hooks:
            hook.remove()
        for module in self.marked:
            delattr(module, MARK)
        if self.registered_in is not None:
            delattr(self.registered_in, KERNEL)

    def before_model(self, model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        bound = signature(model.forward).bind(*args, **kwargs)
        bound.apply_defaults()
        given = {**bound.arguments, **bound.kwargs}  # the latter has what a ** of forward took
        wanted = _wanted(self.delta)
        missing = [name for name in wanted if name not in given]
        if missing:
            raise InputError(f"{type(model).__name__} was called without '{missing[0]}', which delta needs.")
        chosen = {name: given[name] for name in wanted}
        age = chosen[self.delta] if isinstance(self.delta, str) else self.delta(**chosen)
        if not isinstance(age, Tensor) or age.dim() == 0 or age.numel() != len(age):
            what = f"shape {tuple(age.shape)}" if isinstance(age, Tensor) else f"a {type(age).__name__}"
            raise InputError(f"delta must give a tensor with one age for each edge, (E,), but gave {what}.")
        self.psi = self.kernel(age.reshape(-1))

    def after_model(self, *_: Any) -> None:
        self.psi = None

    def before_layer(
        self, layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The layer's arguments with ψ·edge_attr (E, D) in place of edge_attr."""
        called = f"{type(layer).__name__} was called"
        bound = _signature(type(layer).forward).bind(layer, *args, **kwargs)
        edge_index, edge_attr = (bound.arguments.get(name) for name in ("edge_index", "edge_attr"))
        if not (isinstance(edge_index, Tensor) and edge_index.layout == torch.strided):
            raise InputError(  # and its values may be an edge_attr that never passes here
                f"{called} with a sparse matrix, whose edges have an order of their own; "
                "pass edge_index of shape (2, E)."
            )
        if edge_attr is None:  # no edge part in this call
            return args, kwargs
        if self.psi is None:
            raise InputError(
                f"{called} outside the forward of the patched model, so its edges have no age; "
                "call the model, or patch the module that is called."
            )
        if len(edge_attr) != len(self.psi):
            raise InputError(
                f"{called} with {len(edge_attr)} edges, but delta gave {len(self.psi)} ages; "
                "where layers see other edges than the model, patch each layer by itself."
            )
        psi = self.psi.to(edge_attr)
        bound.arguments["edge_attr"] = edge_attr * (psi if edge_attr.dim() > 1 else psi.squeeze(1))
        return bound.args[1:], bound.kwargs


def _layers(model: nn.Module) -> list[nn.Module]:
    """Every layer to patch; what is patched already, inexact or not there is refused."""
    try:
        from torch_geometric import nn as pyg
    except ImportError as error:
        raise MissingExtraError(
            "keat.patch needs torch_geometric; install it with: pip install 'keat[pyg]'"
        ) from error
    layers: list[nn.Module] = []
    for name, module in model.named_modules():
        title = f"{type(module).__name__} '{name}'" if name else type(module).__name__
        if hasattr(module, MARK):
            raise InputError(f"{title} is patched already; undo that first with keat.unpatch.")
        if not isinstance(module, pyg.MessagePassing) or not _takes_edge_attr(type(module).forward):
            continue  # it has no edge features to scale
        if reason := _why_inexact(module, pyg):
            raise InputError(f"{title} cannot be patched exactly: {reason}.")
        layers.append(module)
    if not layers:
        raise InputError(
            f"{type(model).__name__} has no layer to patch; keat.patch knows {', '.join(EXACT)}."
        )
    return layers


def _why_inexact(layer: Any, pyg: Any) -> str | None:
    """Why ψ·edge_attr would not scale the edge part of an attention and nothing else; None where it does."""
    kind = type(layer)
    base = next((base for name in EXACT if issubclass(kind, base := getattr(pyg, name))), None)
    if base is None:
        return INEXACT.get(kind.__name__, "keat does not know what it does with edge_attr")
    for method in ("forward", "message", "edge_update"):
        if getattr(kind, method) is not getattr(base, method):
            return f"it has its own {method}, which may use edge_attr otherwise than {base.__name__}"
    if layer.lin_edge is None:
        return "it has no edge part, since its edge_dim is None"
    if not isinstance(layer.lin_edge, (nn.Linear, pyg.Linear)):
        return f"its edge projection is of type {type(layer.lin_edge).__name__}, which need not be linear"
    if layer.lin_edge.bias is not None:
        return "its edge projection has a bias, which ψ must not scale"
    if getattr(layer, "attention_mode", None) == "multiplicative-self-attention":
        return "its multiplicative attention is a product of node and edge part, so ψ would scale both"
    return None


def _check_kernel(kernel: Kernel) -> None:
    if not isinstance(kernel, Kernel):
        raise InputError(
            f"The kernel must be one of keat.kernels, such as Laplacian(sigma=3600.0), but is {kernel!r}."
        )
    heads = kernel(kernel.sigma.new_zeros(1)).shape[-1]
    if heads > 1:
        raise InputError(
            f"The heads of a patched layer share ψ, but the kernel has {heads}; make it with heads=1."
        )


def _wanted(delta: Delta) -> list[str]:
    """Arguments of the model's forward that delta needs; parameters with a default are delta's own."""
    if isinstance(delta, str):
        return [delta]
    named = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    parameters = signature(delta).parameters.values()
    return [one.name for one in parameters if one.kind in named and one.default is Parameter.empty]


def _check_arguments(wanted: list[str], model: nn.Module) -> None:
    has = signature(model.forward).parameters
    if any(one.kind is Parameter.VAR_KEYWORD for one in has.values()):
        return  # it takes any name; a call tells
    for name in wanted:
        if name not in has:
            raise unknown_name(f"argument of {type(model).__name__}.forward", name, has)


def _takes_edge_attr(forward: Callable[..., Any]) -> bool:
    return any(name.endswith("edge_attr") for name in _signature(forward).parameters)


@cache
def _signature(forward: Callable[..., Any]) -> Signature:
    return signature(forward)
