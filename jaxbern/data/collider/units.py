"""The units of the published columns: what a 1 stands for, in GeV or radians.

The published sets divide most columns by their mean; those with both signs have mean 0
and standard deviation 1. The divisors are not given but can be read off the rows:
momenta of HIGGS are multiples of 0.01 GeV and its directions of 0.001, cuts make sharp
edges, and a high-level column over its formula is a constant. Good to about a percent.
"""

import numpy as np

_HIGGS_PHI, _SUSY_PHI = np.pi / 1.743, np.pi / 1.735

HIGGS = {
    "lepton_pT": 54.6, "lepton_eta": 1.027, "lepton_phi": _HIGGS_PHI,
    "missing_energy_magnitude": 58.2, "missing_energy_phi": _HIGGS_PHI,
    "jet_1_pt": 109.2, "jet_1_eta": 1.010, "jet_1_phi": _HIGGS_PHI, "jet_1_b-tag": 0.920,
    "jet_2_pt": 79.5, "jet_2_eta": 1.030, "jet_2_phi": _HIGGS_PHI, "jet_2_b-tag": 0.903,
    "jet_3_pt": 57.0, "jet_3_eta": 1.099, "jet_3_phi": _HIGGS_PHI, "jet_3_b-tag": 0.785,
    "jet_4_pt": 41.1, "jet_4_eta": 1.201, "jet_4_phi": _HIGGS_PHI, "jet_4_b-tag": 0.645,
    "m_jj": 87.7, "m_jjj": 179.7, "m_lv": 81.4, "m_jlv": 195.2,
    "m_bb": 126.6, "m_wbb": 336.1, "m_wwbb": 511.2,
}  # fmt: skip

SUSY = {
    "lepton_1_pT": 76.6, "lepton_1_eta": 1.189, "lepton_1_phi": _SUSY_PHI,
    "lepton_2_pT": 46.0, "lepton_2_eta": 1.214, "lepton_2_phi": _SUSY_PHI,
    "missing_energy_magnitude": 85.7, "missing_energy_phi": _SUSY_PHI,
    "MET_rel": 57.0, "axial_MET": 85.4, "M_R": 146.5, "M_TR_2": 72.0, "R": 0.554,
    "MT2": 32.7, "S_R": 292.0, "M_Delta_R": 43.9, "dPhi_r_b": 1.977, "cos_theta_r1": 1.0,
}  # fmt: skip

AXIAL_MET_MEAN = -27.0  # GeV, subtracted: the one column with both signs and a mean
