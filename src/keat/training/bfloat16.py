"""Whether a device can train in bfloat16, found out by trying.

What a processor says of itself is not enough: a virtual machine may offer tiles for bfloat16 (AMX) and forbid
their use. The first product then dies of an illegal instruction, or finds no primitive, so it is tried in a
process of its own.
"""

from __future__ import annotations

import functools
import signal
import subprocess
import sys
from collections.abc import Sequence

import torch

from keat.errors import InputError

TRIAL_SECONDS = 120.0  # importing torch from a cold and busy disk takes most of them

# Sizes from below to well above those from which a product is handed to oneDNN, forward and backward; what
# autocast makes of each is compared with float32.
TRIAL = """
import sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # an illegal instruction leaves no file behind
except ImportError:
    pass
import torch
from torch.nn import functional
torch.manual_seed(0)
for rows, inner, columns in (3, 5, 7), (64, 100, 100), (600, 172, 129):
    left, right, bias = (
        torch.randn(*shape, device=sys.argv[1], requires_grad=True)
        for shape in ((2, rows, inner), (2, inner, columns), (columns,))
    )
    def products():
        flat = left.flatten(0, 1)
        linear = functional.linear(flat, right[0].mT, bias), flat @ right[1], torch.bmm(left, right)
        attended = functional.scaled_dot_product_attention(left[None], left[None], left[None])
        return *linear, attended
    with torch.autocast(torch.device(sys.argv[1]).type, torch.bfloat16):
        rough = products()
    if not all(torch.allclose(a.float(), b, 0.1, 0.5) for a, b in zip(rough, products(), strict=True)):
        sys.exit("products come out wrong")
    sum(product.float().square().mean() for product in rough).backward()
    if not all(leaf.grad.isfinite().all() for leaf in (left, right, bias)):
        sys.exit("gradients come out wrong")
"""


def require_bfloat16(device: str) -> None:
    """Refuse to train in bfloat16 where it does not work."""
    trouble = bfloat16_trouble(device)
    if trouble is not None:
        what = "processor" if torch.device(device).type == "cpu" else f"device ({device})"
        raise InputError(f"This {what} cannot train in bfloat16 ({trouble}); leave bf16 out.")


@functools.cache
def bfloat16_trouble(device: str) -> str | None:
    """Why matrix products in bfloat16 do not work on ``device``; None where they do."""
    if torch.device(device).type == "cuda":
        with torch.cuda.device(device):
            return None if torch.cuda.is_bf16_supported() else "it has no bfloat16"
    return trouble_of_trial([sys.executable, "-P", "-c", TRIAL, device], TRIAL_SECONDS)


def trouble_of_trial(command: Sequence[str], seconds: float) -> str | None:
    """How ``command`` failed, in a few words; None where it ended well within ``seconds``."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"a trial did not end within {seconds:g} seconds"
    except OSError as error:
        return f"a trial could not be started: {error.strerror}"
    if done.returncode == 0:
        return None
    if done.returncode < 0:
        name = signal.strsignal(-done.returncode) or f"signal {-done.returncode}"
        return f"a trial died: {name.lower()}"
    said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    return said[-1].rstrip(".") if said else f"a trial ended with {done.returncode}"
