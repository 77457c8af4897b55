"""The data of Experiment 1: what the generators promise, without noise to the letter."""

import dataclasses

import numpy as np
import pytest

from experiments.capacity import capacity_tasks, capacity_training
from experiments.capacity.capacity_tasks import HELD_OUT, TASKS, Budget
from experiments.capacity.capacity_training import Run

BY_NAME = {task.name: task for task in TASKS}
FUNCTIONS = (capacity_tasks.damped_oscillator, capacity_tasks.gaussian_sine)


def sample(draw, noise=0.0, geometry=0.0, points=1000, seed=3):
    return draw(np.random.default_rng(seed), points, noise, geometry)


def test_xor_is_the_product_of_signs_and_no_line_gets_three_quarters_right():
    x, y = sample(capacity_tasks.xor_blobs, noise=0.1)
    np.testing.assert_array_equal(y, x[:, 0] * x[:, 1] > 0)
    assert np.bincount(y).tolist() == [500, 500]
    for angle in np.linspace(0, 2 * np.pi, 60):
        along = x @ [np.cos(angle), np.sin(angle)]
        for cut in np.linspace(-2, 2, 21):
            assert np.mean((along > cut) == y) <= 0.751


def test_xor_blobs_are_as_wide_as_said_and_turn():
    x, _ = sample(capacity_tasks.xor_blobs, noise=0.15, points=40_000)
    first = x[(np.sign(x) == 1).all(axis=1)]
    np.testing.assert_allclose(first.std(axis=0), 0.15, rtol=0.03)
    np.testing.assert_allclose(first.mean(axis=0), 1.0, atol=0.01)
    turned, same = sample(capacity_tasks.xor_blobs, geometry=45.0)
    # The corners of a square that stands on its tip: one class on each axis.
    on_axis = np.isclose(turned, 0, atol=1e-12)
    np.testing.assert_array_equal(on_axis.sum(axis=1), 1)
    assert len(set(zip(on_axis[:, 0].tolist(), same.tolist(), strict=True))) == 2


def test_moons_are_half_circles():
    x, y = sample(capacity_tasks.two_moons, geometry=0.5)
    upper, lower = x[y == 0], x[y == 1] - [1.0, 0.5]
    for moon, side in ((upper, 1), (lower, -1)):
        np.testing.assert_allclose(np.hypot(*moon.T), 1.0)
        assert (side * moon[:, 1] >= 0).all()


@pytest.mark.parametrize("periods", [0.75, 1.0])
def test_bands_are_cut_by_a_sine(periods):
    x, y = sample(capacity_tasks.sinusoidal_bands, geometry=periods)
    np.testing.assert_array_equal(y, x[:, 1] > np.sin(x[:, 0]))
    np.testing.assert_allclose(np.abs(x).max(axis=0), [np.pi * periods, 2], rtol=0.01)
    noisy, label = sample(capacity_tasks.sinusoidal_bands, noise=0.05, geometry=periods)
    wrong = label != (noisy[:, 1] > np.sin(noisy[:, 0]))
    assert 0 < wrong.mean() < 0.03


def noise_of(draw, noise, points):
    """What noise adds to a sample, in units of ``noise``: the seed places the points."""
    (x, y), (noisy_x, noisy_y) = (
        sample(draw, noise=level, geometry=1.0, points=points) for level in (0, noise)
    )
    moved = noisy_y - y if draw in FUNCTIONS else noisy_x - x
    return moved / noise


@pytest.mark.parametrize(
    "draw, uniforms, normals",
    [
        (capacity_tasks.two_moons, 1, 2),
        (capacity_tasks.sinusoidal_bands, 2, 1),
        (capacity_tasks.damped_oscillator, 1, 1),
        (capacity_tasks.gaussian_sine, 1, 1),
    ],
)
def test_noise_uses_no_number_of_the_stream_that_placed_the_points(
    draw, uniforms, normals
):
    """The same numbers twice would tie noise to position in ways that no mean shows."""
    points = 500
    stream = np.random.default_rng(3)
    stream.random(uniforms * points)
    expected = stream.standard_normal((points, normals))
    found = noise_of(draw, 0.1, points).reshape(points, -1)
    np.testing.assert_allclose(found[:, -normals:], expected, atol=1e-11)
    np.testing.assert_array_equal(found[:, :-normals], 0)


def test_noise_of_the_moons_has_no_direction():
    """Independent of the angle: the mean square of the radius is 1 + 2 noise^2."""
    points, noise = 40_000, 0.1
    x, y = sample(capacity_tasks.two_moons, noise=noise, geometry=0.5, points=points)
    square = np.sum((x - y[:, None] * [1.0, 0.5]) ** 2, axis=1)
    four_errors = 4 * 2 * noise / np.sqrt(points)  # of 2 noise times a normal number
    assert abs(square.mean() - (1 + 2 * noise**2)) < four_errors
    covariance = np.cov(noise_of(capacity_tasks.two_moons, noise, points).T)
    np.testing.assert_allclose(covariance, np.eye(2), atol=4 * np.sqrt(2 / points))


def test_functions():
    x, y = sample(capacity_tasks.damped_oscillator, geometry=10.0)
    np.testing.assert_allclose(y, np.exp(-x[:, 0] / 4) * np.cos(x[:, 0]))
    assert x.min() >= 0
    assert 9.9 < x.max() <= 10
    x, y = sample(capacity_tasks.gaussian_sine, geometry=3.0)
    np.testing.assert_allclose(y, np.exp(-(x[:, 0] ** 2)) * np.sin(5 * x[:, 0]))
    assert x.min() < -2.9
    assert x.max() > 2.9


def test_a_seed_is_a_sample_and_held_out_points_are_others():
    task = BY_NAME["two_moons"]
    runs = capacity_training.runs_of(task, Budget(seeds=3, seeds_of_variants=0))
    points, again = (capacity_training.draw(task, runs) for _ in range(2))
    for one, two in zip(points, again, strict=True):
        np.testing.assert_array_equal(one, two)
    assert not np.isclose(points.x[0], points.x[1]).any(axis=0).all()
    learned = {tuple(row) for row in points.x[0].round(5).tolist()}
    judged = {tuple(row) for row in points.held_out_x[0].round(5).tolist()}
    assert not learned & judged
    assert points.held_out_x.shape == (3, HELD_OUT, 2)
    np.testing.assert_allclose(points.x.mean(axis=1), 0, atol=1e-5)
    np.testing.assert_allclose(points.x.std(axis=1), 1, rtol=1e-5)


def test_fewer_points_are_repeated_and_noise_stays_out_of_what_is_judged():
    task = BY_NAME["gaussian_sine"]
    half = dataclasses.replace(task.base, points=task.base.points // 2, noise=0.3)
    points = capacity_training.draw(task, [Run("", 0, half)])
    count = task.base.points // 2
    np.testing.assert_array_equal(points.x[0, :count], points.x[0, count:])
    np.testing.assert_array_equal(points.y[0, :count], points.y[0, count:])
    for x, y, noisy in (
        (points.x, points.y, True),
        (points.held_out_x, points.held_out_y, False),
    ):
        raw = x[0] * points.deviation[0] + points.mean[0]
        missed = np.abs(y[0] - capacity_tasks.windowed_sine(raw[:, 0])).max()
        assert missed > 0.1 if noisy else missed < 1e-4  # float32 inputs


def test_variants_change_one_thing_each():
    for task in TASKS:
        for setting in task.variants.values():
            changed = [
                name
                for name, value in dataclasses.asdict(setting).items()
                if value != getattr(task.base, name)
            ]
            assert len(changed) == 1
            assert task.base.points % setting.points == 0
