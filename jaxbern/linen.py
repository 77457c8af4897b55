"""The layer for ``flax.linen``, and conversion of networks written in it."""

from jaxbern.nn._convert_linen import convert as convert
from jaxbern.nn._linen_act import BernsteinAct as BernsteinAct

__all__ = ["BernsteinAct", "convert"]
