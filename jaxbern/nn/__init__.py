"""Layers and networks: the Flax activation, and the network of the paper.

The network is also available as pure functions (``init``, ``forward``, ...), which the
training loop, the plots and the benchmarks use.
"""

from jaxbern.nn._act import BernsteinAct as BernsteinAct
from jaxbern.nn._convert import convert as convert
from jaxbern.nn._hidden import Statistics as Statistics
from jaxbern.nn._inside import Layer as Layer
from jaxbern.nn._inside import layers as layers
from jaxbern.nn._inspect import Inspection as Inspection
from jaxbern.nn._inspect import inspect as inspect
from jaxbern.nn._mlp import MLP as MLP
from jaxbern.nn._network import forward as forward
from jaxbern.nn._network import init as init
from jaxbern.nn._network import init_statistics as init_statistics
from jaxbern.nn._network import parameter_shapes as parameter_shapes
from jaxbern.nn._network import update_running as update_running
from jaxbern.nn._network_config import BERNSTEIN as BERNSTEIN
from jaxbern.nn._network_config import FIXED as FIXED
from jaxbern.nn._network_config import NetworkConfig as NetworkConfig
from jaxbern.nn._telemetry import saturation as saturation
