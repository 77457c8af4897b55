"""Modules of the packages for PyTorch, which are imported when they are created.

The shapes are those of ``jax_modules``: ten coefficients, inputs of layers in [-3, 3].
"""

from importlib import import_module

from experiments.comparison.jax_modules import DEGREE, INPUTS, INTERVALS, ORDER, RANGE


def _seeded(seed: int):
    import torch

    torch.manual_seed(seed)
    return torch


def relu(width: int, seed: int):
    return _seeded(seed).nn.ReLU()


def deepbern(width: int, seed: int):
    torch = _seeded(seed)
    BernsteinLayer = import_module("models.BernsteinLayer").BernsteinLayer

    layer = BernsteinLayer([width], DEGREE)
    layer.input_bounds = torch.tensor(RANGE).expand(width, 2).clone()
    return layer


def rational(width: int, seed: int):
    _seeded(seed)
    Rational = import_module("rational.torch").Rational

    return Rational(approx_func="gelu", degrees=(5, 4), version="A", cuda=False)


def kat_group(width: int, seed: int):
    """Create the PyTorch version from FlashKAT's repository; its kernels need a GPU."""
    torch = _seeded(seed)
    KAT_Group_Torch = import_module("rational_kat").KAT_Group_Torch

    class Group(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.group = KAT_Group_Torch(num_groups=width, mode="gelu")

        def forward(self, x):
            return self.group(x[None])[0]  # it expects three axes

    return Group()


def efficient_kan(width: int, seed: int):
    _seeded(seed)
    KANLinear = import_module("efficient_kan").KANLinear

    return KANLinear(
        width,
        width,
        grid_size=INTERVALS,
        spline_order=ORDER,
        grid_range=list(RANGE),
    )


def pykan(width: int, seed: int):
    torch = _seeded(seed)
    KANLayer = import_module("kan.KANLayer").KANLayer

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = KANLayer(
                width, width, num=INTERVALS, k=ORDER, grid_range=list(RANGE)
            )

        def forward(self, x):
            return self.layer(x)[0]  # the other outputs are for plotting

    return Layer()


def _network(features: int, outputs: int, width: int, act, seed: int):
    nn = _seeded(seed).nn
    layers = []
    for inputs in (features, width):
        norm = nn.BatchNorm1d(width, affine=False)
        layers += [nn.Linear(inputs, width), norm, act(width, seed)]
    return nn.Sequential(*layers, nn.Linear(width, outputs))


def relu_network(features: int, outputs: int, width: int, seed: int):
    return _network(features, outputs, width, relu, seed)


def rational_network(features: int, outputs: int, width: int, seed: int):
    return _network(features, outputs, width, rational, seed)


def kat_network(features: int, outputs: int, width: int, seed: int):
    return _network(features, outputs, width, kat_group, seed)


def deepbern_network(features: int, outputs: int, width: int, seed: int):
    """Create DeepBern-Nets' own network, which propagates input bounds in every step."""
    torch = _seeded(seed)
    FCModel = import_module("models.models").FCModel

    bounds = torch.tensor(INPUTS).expand(features, 2).clone()
    sizes = [features, width, width, outputs]

    class Bounded(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.network = FCModel(sizes, DEGREE, "bern", bounds)

        def forward(self, x):  # evaluation mode would use bounds of old weights
            return self.network.forward_with_bounds(x)

    return Bounded()


def efficient_kan_network(features: int, outputs: int, width: int, seed: int):
    _seeded(seed)
    KAN = import_module("efficient_kan").KAN

    sizes = [features, width, outputs]
    return KAN(sizes, grid_size=INTERVALS, spline_order=ORDER, grid_range=list(INPUTS))


def pykan_network(features: int, outputs: int, width: int, seed: int):
    """Create a pykan network without its symbolic part, as its authors advise for speed."""
    _seeded(seed)
    KAN = import_module("kan").KAN

    network = KAN(
        [features, width, outputs],
        grid=INTERVALS,
        k=ORDER,
        grid_range=list(INPUTS),
        seed=seed,
        auto_save=False,
    )
    return network.speed()
