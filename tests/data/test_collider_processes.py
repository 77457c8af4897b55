"""What comes out of the four processes, before a detector sees it; and what it sees."""

import numpy as np
import pytest

from jaxbern.data.collider import detector, processes
from jaxbern.data.collider.razor import mt2

EVENTS = 20_000


@pytest.fixture(scope="module")
def collisions():
    rng = np.random.default_rng(0)
    makers = "heavy_higgs", "top_pair", "chargino_pair", "w_pair"
    return {name: getattr(processes, name)(rng, EVENTS) for name in makers}


def total(particles):
    found = particles[0]
    for k in range(1, len(particles.e)):
        found = found + particles[k]
    return found


def quartiles(masses):
    return np.percentile(masses, [25, 50, 75])


@pytest.mark.parametrize("name", ["heavy_higgs", "top_pair", "chargino_pair", "w_pair"])
def test_nothing_is_left_over_across_the_beams(collisions, name):
    found = collisions[name]
    everything = total(found.leptons) + total(found.partons) + found.invisible
    np.testing.assert_allclose(everything.x, 0, atol=1e-8)
    np.testing.assert_allclose(everything.y, 0, atol=1e-8)
    assert everything.pt.max() < 1e-8 < total(found.leptons).pt.min()


def test_higgs_masses_are_where_they_belong(collisions):
    found = collisions["heavy_higgs"]
    bb = found.partons[0] + found.partons[1]
    leptonic = found.leptons[0] + found.invisible
    hadronic = found.partons[2] + found.partons[3]
    np.testing.assert_allclose(bb.mass, 125, rtol=1e-7)
    np.testing.assert_allclose((bb + leptonic + hadronic).mass, 425, rtol=1e-7)
    with_lepton = abs((bb + leptonic).mass - 325) < 1e-4
    with_quarks = abs((bb + hadronic).mass - 325) < 1e-4
    assert (with_lepton ^ with_quarks).all()  # one of the two, as often as the other
    assert abs(with_lepton.mean() - 0.5) < 0.02
    for w in (leptonic, hadronic):
        np.testing.assert_allclose(quartiles(w.mass), [79.4, 80.4, 81.4], atol=0.15)


def test_tops_and_their_ws_have_their_masses(collisions):
    found = collisions["top_pair"]
    leptonic = found.leptons[0] + found.invisible
    hadronic = found.partons[2] + found.partons[3]
    for w, b in ((leptonic, found.partons[0]), (hadronic, found.partons[1])):
        np.testing.assert_allclose(quartiles(w.mass), [79.4, 80.4, 81.4], atol=0.15)
        top = quartiles((w + b).mass)
        np.testing.assert_allclose(top, [172.3, 173.0, 173.7], atol=0.1)
    everything = leptonic + hadronic + found.partons[0] + found.partons[1]
    assert 340 < np.median(everything.mass) < 500


def test_pairs_are_above_their_thresholds(collisions):
    for name, threshold in (("chargino_pair", 400.0), ("w_pair", 2 * 65.0)):
        found = collisions[name]
        mass = (total(found.leptons) + found.invisible).mass
        assert mass.min() > threshold
        # A steep spectrum: few are far above.
        assert np.percentile(mass, 90) < 3 * np.median(mass)


def test_w_pairs_keep_below_the_endpoint_of_mt2(collisions):
    """With all that is invisible known, MT2 is at most the larger W mass."""
    found = collisions["w_pair"]
    bound = mt2(
        found.leptons[0], found.leptons[1], found.invisible.x, found.invisible.y
    )
    assert 75 < np.percentile(bound, 99.5) < 90
    assert bound.max() < 80.4 + 15
    dark = collisions["chargino_pair"]
    bound = mt2(dark.leptons[0], dark.leptons[1], dark.invisible.x, dark.invisible.y)
    assert bound.max() > 100  # the neutralinos carry more away than neutrinos can


def test_cuts_hold_and_leptons_are_ordered(collisions):
    rng = np.random.default_rng(1)
    for name in ("heavy_higgs", "top_pair"):
        seen = detector.one_lepton(rng, collisions[name])
        assert seen.jets.e.shape == (4, len(seen.missing_x))
        assert 0.3 * EVENTS < len(seen.missing_x) < EVENTS
        assert seen.jets.pt.min() > 15
        assert np.abs(seen.jets.eta).max() < 3
        assert seen.leptons.pt.min() > 15
        assert np.abs(seen.leptons.eta).max() < 2.5
        assert (np.diff(seen.jets.pt.mean(axis=1)) < 0).all()
    for name in ("chargino_pair", "w_pair"):
        seen = detector.two_leptons(rng, collisions[name])
        assert seen.leptons.pt.min() > 20
        assert np.abs(seen.leptons.eta).max() < 2.5
        assert (seen.leptons.pt[0] >= seen.leptons.pt[1]).all()


def test_missing_momentum_is_what_the_neutrino_took(collisions):
    found = collisions["top_pair"]
    leptons, jets, x, y = detector._smear(np.random.default_rng(0), found, 8.0)
    np.testing.assert_allclose(np.std(leptons.e / found.leptons.e), 0.02, rtol=0.1)
    # What is seen, what is missing and a noise of 8 GeV add up to nothing.
    seen = total(jets) + total(found.leptons)
    for missing, part in ((x, seen.x), (y, seen.y)):
        assert abs(np.std(missing + part) - 8.0) < 0.2
    assert np.corrcoef(x, found.invisible.x)[0, 1] > 0.8
    assert np.corrcoef(y, found.invisible.y)[0, 1] > 0.8


def test_tags_have_the_efficiencies(collisions):
    seen = detector.one_lepton(np.random.default_rng(0), collisions["heavy_higgs"])
    assert set(np.unique(seen.tags)) == {0, 1, 2}
    # Nearly two tagged b jets an event, in the 0.74 : 0.16 of tight and loose tags.
    tight, loose = (seen.tags == 2).sum(), (seen.tags == 1).sum()
    assert abs(tight / (tight + loose) - 0.82) < 0.02
    assert 1.4 < (tight + loose) / len(seen.missing_x) < 1.9
