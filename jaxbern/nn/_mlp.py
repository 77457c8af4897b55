"""``jaxbern.MLP``: the paper's network as a ``flax.nnx`` module."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jax.typing import DTypeLike

from jaxbern.initializers import Initializer
from jaxbern.kernels.array_types import Array, ArrayLike, Float, Shaped
from jaxbern.nn import _describe, _network
from jaxbern.nn._network_config import NetworkConfig
from jaxbern.nn._option_checks import flag, parameter_key


class MLP(nnx.Module):
    """``depth`` hidden layers of ``width`` neurons, each Linear, BatchNorm, activation.

    The hidden layers after the first add their input to their output (``residual``); a
    last Linear gives ``out_features`` logits. BatchNorm has no scale and no shift. Layers
    are stacked and scanned over, so 150 compile as fast as 5, and the residuals are two
    arrays per layer, the minimum without recomputing matrix products.

    >>> import jax.numpy as jnp, jaxbern as jb
    >>> from flax import nnx
    >>> model = jb.MLP(28, depth=5, width=16, degree=3, rngs=nnx.Rngs(0))
    >>> model(jnp.zeros((32, 28))).shape
    (32, 2)
    >>> model.parameter_count
    1906

    ``model.eval()`` makes it use running statistics, as in Flax. The fraction of inputs
    outside the interval, ``[depth, width]``, can be captured from any call:

    >>> model.eval()
    >>> logits, seen = nnx.capture(model, nnx.Intermediate)(jnp.zeros((32, 28)))
    >>> seen["saturation"][0].shape
    (5, 16)
    """

    def __init__(
        self,
        in_features: int,
        depth: int,
        width: int,
        *,
        activation: str = "bernstein",
        degree: int = 9,
        residual: bool = True,
        out_features: int = 2,
        lower: float = -3.0,
        upper: float = 3.0,
        outside: str = "clamp",
        init: str | Initializer = "smooth",
        monotone: bool = False,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        lean: bool = True,
        remat: bool = False,
        use_running_average: bool = False,
        dtype: DTypeLike | None = None,
        param_dtype: DTypeLike = jnp.float32,
        implementation: str | None = None,
        rngs: nnx.Rngs,
    ):
        """Create the network.

        Args:
          in_features: width of the input.
          depth: number ``L`` of hidden layers, at least 1.
          width: number ``W`` of neurons in each.
          activation: ``"bernstein"``, ``"relu"``, ``"leaky_relu"`` (slope 0.1), ``"selu"`` or
            ``"gelu"``.
          degree: degree of the Bernstein polynomials.
          residual: add the input of each hidden layer but the first to its output.
          out_features: number of logits.
          lower: left end of the interval of each activation, after BatchNorm.
          upper: right end.
          outside: ``"clamp"`` or ``"linear"``, as for :func:`jaxbern.bernstein`.
          init: initialiser of the coefficients, as in :class:`jaxbern.BernsteinAct`; but
            ``"smooth"`` and ``"normal"`` have standard deviation ``1 / W``, as in the paper.
          monotone: make every polynomial increasing.
          momentum: momentum of the running statistics, in Flax's sense.
          epsilon: added to the variance.
          lean: keep only residuals that are expensive to recompute. False runs the network
            as separate operations, for comparison.
          remat: recompute each layer's matrix product in the backward pass: half the
            memory for a third more arithmetic.
          use_running_average: use the running statistics; ``model.eval()`` sets it.
          dtype: dtype of the computation; that of the input if not given. Statistics and
            polynomials are computed in float32 at least.
          param_dtype: dtype of the parameters.
          implementation: as for :func:`jaxbern.bernstein`.
          rngs: source of the initialiser's key, stream ``params``.
        """
        config = NetworkConfig(
            in_features,
            depth,
            width,
            activation=activation,
            degree=degree,
            residual=residual,
            out_features=out_features,
            lower=lower,
            upper=upper,
            outside=outside,
            init=init if isinstance(init, str) else "custom",
            monotone=monotone,
            momentum=momentum,
            epsilon=epsilon,
            lean=lean,
            remat=remat,
            dtype=None if dtype is None else jnp.dtype(dtype).name,
            param_dtype=jnp.dtype(param_dtype).name,
            implementation=implementation,
        )
        self.config = nnx.static(config)
        self.use_running_average = flag("use_running_average", use_running_average)
        params = _network.init(config, parameter_key(rngs), init)
        mean, var = _network.init_statistics(config)
        self.first, self.hidden, self.last = (
            Linear(**params[name]) for name in ("first", "hidden", "last")
        )
        self.coeffs = nnx.Param(params["coeffs"]) if "coeffs" in params else None
        self.mean, self.var = nnx.BatchStat(mean), nnx.BatchStat(var)

    def __call__(
        self, x: Shaped[ArrayLike, "*batch inputs"]
    ) -> Float[Array, "*batch outputs"]:
        """Compute logits ``[..., out_features]`` for ``x [..., in_features]``.

        In training mode the running statistics are updated.
        """
        x = _network.checked_input(self.config, x)
        rows = x.reshape(-1, x.shape[-1])
        if not (self.use_running_average or len(rows)):
            raise ValueError(
                f"training needs at least one row, got x of shape {list(x.shape)}; "
                "model.eval() uses running statistics"
            )
        running = self.mean[...], self.var[...]
        captures = hasattr(self, "__captures__")  # inside nnx.capture
        out = _network.forward(
            self.config,
            self.params(),
            rows,
            running if self.use_running_average else None,
            with_saturation=captures,
        )
        if not self.use_running_average:
            self.mean[...], self.var[...] = _network.update_running(
                self.config, running, out.statistics, len(rows)
            )
        if captures and out.saturation is not None:
            self.sow(nnx.Intermediate, "saturation", out.saturation)
        return out.logits.reshape(*x.shape[:-1], self.config.out_features)

    def params(self) -> dict[str, Any]:
        """Return the parameters in the form that the pure functions of ``jaxbern.nn`` take."""
        params: dict[str, Any] = {
            name: {"kernel": part.kernel[...], "bias": part.bias[...]}
            for name, part in (
                ("first", self.first),
                ("hidden", self.hidden),
                ("last", self.last),
            )
        }
        if self.coeffs is not None:
            params["coeffs"] = self.coeffs[...]
        return params

    @property
    def parameter_count(self) -> int:
        """Number of trained parameters."""
        return self.config.parameter_count

    def describe(self) -> str:
        """Format a table of layers and parameters, effective degree, memory per sample.

        >>> from flax import nnx
        >>> print(MLP(28, depth=5, width=16, degree=3, rngs=nnx.Rngs(0)).describe())
        5x16 residual network, bernstein of degree 3
        layer               weights  parameters
        first          28 x 16 + 16         464
        hidden x 4     16 x 16 + 16       1,088
        last             16 x 2 + 2          34
        bernstein x 5        16 x 4         320
        total                             1,906
        effective degree: 3^5 = 243
        kept for the backward pass: 0.734 KiB per sample
        """
        return _describe.table(self.config)

    def save(self, path: str | Path) -> None:
        """Write parameters, running statistics and options to ``path``.

        A path that ends in ``.npz`` becomes one file, any other an orbax checkpoint. The
        write is atomic. A directory that holds anything but such a checkpoint is not
        overwritten.
        """
        from jaxbern.io import model_files

        model_files.save(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> "MLP":
        """Load a network that :meth:`save` wrote, in the mode (train, eval) it was in.

        Loading never runs code from the file. A damaged file, or one that is not a
        network, raises ``ValueError``.
        """
        from jaxbern.io import model_files

        return model_files.load(Path(path))

    @classmethod
    def from_config(cls, config: NetworkConfig, *, rngs: nnx.Rngs) -> "MLP":
        """Create the network with these options."""
        return cls(**config.to_dict(), rngs=rngs)


class Linear(nnx.Module):
    """Weights ``[..., in, out]`` and biases ``[..., out]``; hidden layers are stacked."""

    def __init__(self, kernel: jax.Array, bias: jax.Array):
        """Store the arrays as parameters."""
        self.kernel, self.bias = nnx.Param(kernel), nnx.Param(bias)
