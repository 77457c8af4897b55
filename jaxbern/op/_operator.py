"""The operator: ``jaxbern.bernstein``, and ``bernstein_norm`` for a whole hidden layer."""

import jax.numpy as jnp

from jaxbern.kernels import gradient
from jaxbern.kernels.array_types import Array, ArrayLike, Ends, Float
from jaxbern.op import _dispatch
from jaxbern.op import _operator_arguments as _arguments


def bernstein(
    x: Float[ArrayLike, "*batch"],
    coeffs: Float[ArrayLike, "*neurons terms"],
    *,
    lower: Ends = -3.0,
    upper: Ends = 3.0,
    outside: str = "clamp",
    implementation: str | None = None,
) -> Float[Array, "*batch"]:
    r"""Evaluate a Bernstein polynomial for each neuron, elementwise.

    .. math:: \sigma(x) = \sum_{k=0}^{n} c_k \binom nk
              \frac{(x-l)^k (u-x)^{n-k}}{(u-l)^n}, \qquad x \text{ clamped to } [l, u].

    Outside the interval the value is that of the nearer end point and the gradient in
    ``x`` is zero; with ``outside="linear"`` it follows the tangent of that end point. At an
    end point the gradient is the derivative from inside. NaN gives NaN. Every
    JAX transform applies, at every order, in ``x``, ``coeffs``, ``lower`` and ``upper``; the
    backward pass keeps ``x`` and ``coeffs`` only.

    Args:
      x: ``[..., W]``, floating point. Narrow types are computed in float32.
      coeffs: ``[W, n+1]``, one polynomial per neuron, or ``[n+1]``, one for all.
      lower: left end of the interval, a scalar or ``[W]``.
      upper: right end, a scalar or ``[W]``; must be greater than ``lower``.
      outside: ``"clamp"``, constant beyond the interval, or ``"linear"``, straight lines
        ``B(end) + B'(end) (x - end)``, so that value and slope are continuous.
      implementation: ``"xla"``, ``"pallas"``, ``"mosaic"``, ``"triton"``, or ``None``
        for the best available.

    Returns:
      An array of the shape and dtype of ``x``.

    Example:
      The coefficients of a straight line are equally spaced:

      >>> import jax, jax.numpy as jnp, jaxbern as jb
      >>> line = jnp.array([-3.0, -1.0, 1.0, 3.0])
      >>> jb.bernstein(jnp.array([-5.0, 0.0, 3.0]), line).tolist()
      [-3.0, 0.0, 3.0]
      >>> jax.grad(lambda x: jb.bernstein(x, line))(0.0).item()
      1.0

    Reference: H. Khedr and Y. Shoukry, *DeepBern-Nets*, 2024.
    """
    _arguments.check_outside(outside)
    x = _arguments.floating("x", x)
    coeffs = _arguments.by_degree(x, coeffs)
    interval = _arguments.interval(lower, upper, x.shape, coeffs.dtype)
    options = {
        "outside": outside,
        "implementation": _dispatch.requested(implementation),
    }
    return gradient.evaluate(x, coeffs, interval, **options)


def bernstein_norm(
    z: Float[ArrayLike, "*batch"],
    coeffs: Float[ArrayLike, "*neurons terms"],
    *,
    mean: Float[ArrayLike, "..."],
    var: Float[ArrayLike, "..."],
    eps: float = 1e-5,
    residual: Float[ArrayLike, "*batch"] | None = None,
    lower: Ends = -3.0,
    upper: Ends = 3.0,
    outside: str = "clamp",
    implementation: str | None = None,
) -> Float[Array, "*batch"]:
    r"""Normalise with given statistics, activate, add the skip: one operation.

    .. math:: y = r + \sigma\left(\frac{z - \mu}{\sqrt{v + \epsilon}}\right)

    The result equals that of three operations, but the normalised value is never stored:
    ``sigma`` of it on ``[l, u]`` is ``sigma`` of ``z - mean`` on ``[l std, u std]``, and the
    kernels subtract the mean after loading ``z``. The residuals are ``z`` and one value per
    neuron and argument; a GPU kernel reads ``z`` and the cotangent once for all gradients.

    All array arguments have gradients. With batch statistics, computed from ``z`` outside
    this function, they add up to the gradient of BatchNorm, also when the batch is
    sharded; with running statistics they are those of evaluation mode.

    Args:
      z: ``[..., W]``, floating point, not yet normalised.
      coeffs: ``[W, n+1]``, one polynomial per neuron, or ``[n+1]``, one for all.
      mean: a scalar or ``[W]``.
      var: a scalar or ``[W]``, not negative.
      eps: added to the variance.
      residual: added to the result; same shape and dtype as ``z``.
      lower: left end of the interval for the normalised value, a scalar or ``[W]``.
      upper: right end.
      outside: as for :func:`bernstein`.
      implementation: as for :func:`bernstein`.

    Returns:
      An array of the shape and dtype of ``z``.

    Example:
      >>> import jax.numpy as jnp, jaxbern as jb
      >>> z = jnp.array([[2.0, 10.0], [4.0, 30.0]])
      >>> line = jnp.array([-3.0, 3.0])
      >>> mean, var = z.mean(axis=0), z.var(axis=0)
      >>> y = jb.bernstein_norm(z, line, mean=mean, var=var, eps=0.0, residual=z)
      >>> y.round().astype(int).tolist()
      [[1, 9], [5, 31]]
    """
    _arguments.check_outside(outside)
    _arguments.check_epsilon(eps)
    z = _arguments.floating("z", z)
    coeffs = _arguments.by_degree(z, coeffs)
    mean, var = (
        _arguments.per_neuron(name, value, z, coeffs.dtype)
        for name, value in (("mean", mean), ("var", var))
    )
    ends = _arguments.interval(lower, upper, z.shape, coeffs.dtype)
    interval = jnp.concatenate([ends * jnp.sqrt(var + eps)[None], mean[None]])
    skip = [] if residual is None else [_arguments.like(z, "residual", residual)]
    options = {
        "outside": outside,
        "implementation": _dispatch.requested(implementation),
    }
    return gradient.evaluate(z, coeffs, interval, *skip, **options)
