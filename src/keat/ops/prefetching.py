"""Tell the processor what a loop will need a little later, so that it does not wait for memory then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_LINE = 64  # bytes that the caches fetch at once


def _prefetch(typing_context: Any, array: Any, row: Any, first: Any, lines: Any) -> Any:  # noqa: ARG001
    """The type of a call, and what generates the code for it."""
    if not isinstance(lines, types.IntegerLiteral):
        return None
    return types.void(array, row, first, lines), _generate


def _generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    values = context.make_array(signature.args[0])(context, builder, arguments[0])
    row, first = (context.cast(builder, arguments[i], signature.args[i], types.intp) for i in (1, 2))
    byte, number, long = ir.IntType(8).as_pointer(), ir.IntType(32), ir.IntType(64)
    size = context.get_abi_sizeof(context.get_data_type(signature.args[0].dtype))
    start = builder.gep(
        builder.bitcast(values.data, byte), [builder.add(builder.mul(row, ir.Constant(long, size)), first)]
    )
    kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
    fetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
    for line in range(signature.args[3].literal_value):
        address = builder.gep(start, [ir.Constant(long, line * _LINE)])
        builder.call(fetch, [address, number(0), number(3), number(1)])  # to read, to all caches, data
    return context.get_dummy_value()


# ``prefetch(array, row, first, lines)``: in a compiled loop, begin to fetch lines of a row, from its byte
# ``first`` on. How many lines has to be written out as a number. The row need not be there: nothing is read,
# and nothing changes but how long the next access takes.
prefetch = cast("Callable[[Any, Any, int, int], None]", intrinsic(_prefetch))
