"""Learnable Bernstein-polynomial activations for JAX."""

from jaxbern import initializers as initializers
from jaxbern import linen as linen
from jaxbern import poly as poly
from jaxbern._dispatch import explain as explain
from jaxbern._dispatch import implementation as implementation
from jaxbern._layer import BernsteinAct as BernsteinAct
from jaxbern._operator import bernstein as bernstein
from jaxbern._saturation import saturation as saturation
from jaxbern._version import __version__ as __version__
from jaxbern.kernels.autotune import autotune as autotune
