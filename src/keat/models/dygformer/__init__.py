"""DyGFormer and KEAT-DyGFormer: a Transformer over the past events of both ends of a pair."""

from keat.models.dygformer.config import READINGS, DyGFormerConfig, Reading
from keat.models.dygformer.model import DyGFormer

__all__ = ["READINGS", "DyGFormer", "DyGFormerConfig", "Reading"]
