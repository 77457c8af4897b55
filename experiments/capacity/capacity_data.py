"""The five data sets, drawn with NumPy from a seed.

The paper names the shapes and nothing else. Sizes, noise and intervals are ours, here and
in ``tasks.py``; the sensitivity table of the results varies each of them.

A generator takes ``(rng, points, noise, geometry)`` and returns inputs ``[points, d]`` and
targets ``[points]``: classes 0 and 1, or the values of a function. What ``geometry`` means
is said in each.
"""

import numpy as np

Sample = tuple[np.ndarray, np.ndarray]


def xor_blobs(
    rng: np.random.Generator, points: int, noise: float, geometry: float
) -> Sample:
    """Four Gaussian blobs on the corners of a square of side 2, opposite ones one class.

    ``noise`` is the standard deviation of a blob, ``geometry`` turns the square by so many
    degrees.
    """
    corner = np.arange(points) % 4
    centre = np.stack([1.0 - 2.0 * (corner % 2), 1.0 - 2.0 * (corner // 2)], axis=1)
    x = centre + noise * rng.standard_normal((points, 2))
    turn = np.deg2rad(geometry)
    rotation = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    return x @ rotation, (centre[:, 0] * centre[:, 1] > 0).astype(np.int32)


def two_moons(
    rng: np.random.Generator, points: int, noise: float, geometry: float
) -> Sample:
    """Two half circles of radius 1, one upside down and moved into the other.

    ``noise`` is the standard deviation of both coordinates, ``geometry`` how far the second
    moon reaches up into the first (0.5 is the usual drawing).
    """
    label = np.arange(points) % 2
    angle = np.pi * rng.random(points)
    upper = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    lower = np.stack([1 - np.cos(angle), geometry - np.sin(angle)], axis=1)
    x = np.where(label[:, None] == 0, upper, lower)
    return x + noise * rng.standard_normal((points, 2)), label.astype(np.int32)


def sinusoidal_bands(
    rng: np.random.Generator, points: int, noise: float, geometry: float
) -> Sample:
    """Above or below ``sin(x_1)``, uniform on ``[-pi g, pi g] x [-2, 2]``.

    ``geometry`` is ``g``, the number of periods. ``noise`` is the standard deviation of what
    is added to ``x_2`` after the class is known: points near the curve may end up on the
    wrong side.
    """
    x = rng.uniform(-1, 1, (points, 2)) * [np.pi * geometry, 2.0]
    label = x[:, 1] > np.sin(x[:, 0])
    x[:, 1] += noise * rng.standard_normal(points)
    return x, label.astype(np.int32)


def damped_oscillator(
    rng: np.random.Generator, points: int, noise: float, geometry: float
) -> Sample:
    """``exp(-0.25 x) cos(x)``, uniform on ``[0, geometry]``; ``noise`` is added to it."""
    x = rng.uniform(0, geometry, (points, 1))
    y = oscillator(x[:, 0])
    return x, y + noise * rng.standard_normal(points)


def gaussian_sine(
    rng: np.random.Generator, points: int, noise: float, geometry: float
) -> Sample:
    """``exp(-x^2) sin(5 x)``, uniform on ``[-geometry, geometry]``; ``noise`` is added."""
    x = rng.uniform(-geometry, geometry, (points, 1))
    y = windowed_sine(x[:, 0])
    return x, y + noise * rng.standard_normal(points)


def oscillator(x: np.ndarray) -> np.ndarray:
    """The target of ``damped_oscillator``."""
    return np.exp(-0.25 * x) * np.cos(x)


def windowed_sine(x: np.ndarray) -> np.ndarray:
    """The target of ``gaussian_sine``."""
    return np.exp(-np.square(x)) * np.sin(5 * x)
