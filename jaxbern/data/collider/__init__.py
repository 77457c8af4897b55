"""A toy collider, for use without the published data.

`higgs` and `susy` simulate the processes behind UCI's HIGGS and SUSY and fill the same
columns in the same order and units. They do not reproduce those data sets. Left out are:

- matrix elements, spin and parton densities: spectra are one-line formulas, with scales
  chosen to resemble the published columns, and decays are isotropic;
- showers and hadrons: each parton is one jet, the hard process has two radiated partons,
  jets do not split or merge, and there are no fakes and no pile-up;
- the detector: Gaussian resolutions, exponential losses, flat tagging efficiencies. More
  than two jets may be tagged here, never so in HIGGS.

Compared with the published columns, m_jj is wider (there its jets come from more than four) and
jets are softer; in W pairs MT2 and M_Delta_R are larger and leptons more central.

Boosted trees separate signal and background about as well as in the published data, on
all columns and on the low-level ones alone. Results on the toy show that a pipeline works;
they say nothing about the published benchmarks.

After P. Baldi, P. Sadowski, D. Whiteson, Nature Communications 5, 4308 (2014).
"""

from jaxbern.data._dataset import Dataset
from jaxbern.data.collider import detector, processes, units
from jaxbern.data.collider.masses import higgs_columns
from jaxbern.data.collider.razor import susy_columns
from jaxbern.data.collider.recipe import Recipe, simulate

__all__ = ["higgs", "susy"]

_HIGGS = Recipe(
    name="collider-higgs",
    processes=(processes.top_pair, processes.heavy_higgs),
    signal=0.53,
    measure=detector.one_lepton,
    features=higgs_columns,
    units=units.HIGGS,
)
_SUSY = Recipe(
    name="collider-susy",
    processes=(processes.w_pair, processes.chargino_pair),
    signal=0.46,
    measure=detector.two_leptons,
    features=susy_columns,
    units=units.SUSY,
)


def higgs(n: int, seed: int = 0) -> Dataset:
    """Simulate a toy of HIGGS: a heavy Higgs against top pairs, 28 columns.

    Signal: a neutral Higgs of 425 GeV to W and a charged Higgs of 325 GeV, that to W and
    a Higgs of 125 GeV, that to two b quarks. Background: top pairs, each top to W and b.
    Both end in W W b b; one W gives a lepton and a neutrino, one two quarks. Accepted
    are a lepton of 15 GeV and four jets of 15 GeV. 21 columns are measured, 7 are invariant
    masses computed from them. 53% are signal.

    The same ``n`` and ``seed`` give the same bits with the same NumPy on the same kind
    of machine. A million events take seconds, and no more memory than they fill.

    >>> from jaxbern.data import collider
    >>> data = collider.higgs(1000, seed=0)
    >>> data.x.shape, int(data.y.sum()), data.columns[-3:]
    ((1000, 28), 530, ('m_bb', 'm_wbb', 'm_wwbb'))
    """
    return simulate(_HIGGS, n, seed)


def susy(n: int, seed: int = 0) -> Dataset:
    """Simulate a toy of SUSY: chargino pairs against W pairs, 18 columns.

    Signal: two charginos of 200 GeV, each to W and an invisible neutralino of 100 GeV.
    Background: W pairs. In both each W gives a lepton and a neutrino. Accepted are two
    leptons of 20 GeV. 8 columns are measured, 10 are computed from them to separate the
    two processes: razor, super-razor and stransverse mass. 46% are signal. As
    reproducible and fast as `higgs`.

    >>> from jaxbern.data import collider
    >>> collider.susy(1000, seed=0).x.shape
    (1000, 18)
    """
    return simulate(_SUSY, n, seed)
