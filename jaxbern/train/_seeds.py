"""A function of one seed, for all of them."""

from collections.abc import Callable

import jax


def over_seeds(of_one: Callable) -> Callable:
    """``vmap`` over the leading axis of every argument.

    A single seed goes without that axis: XLA:CPU takes twenty times as long to sum
    ``[1, rows, W]`` over the rows as ``[rows, W]``.
    """

    def of_all(*arguments):
        if len(jax.tree.leaves(arguments)[0]) > 1:
            return jax.vmap(of_one)(*arguments)
        alone = of_one(*jax.tree.map(lambda a: a[0], arguments))
        return jax.tree.map(lambda a: a[None], alone)

    return of_all
