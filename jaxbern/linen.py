"""The layer for ``flax.linen``, and conversion of networks written in it."""

from jaxbern.nn.linen_act import BernsteinAct as BernsteinAct
from jaxbern.nn.linen_convert import convert as convert

__all__ = ["BernsteinAct", "convert"]
