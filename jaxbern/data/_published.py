"""HIGGS and SUSY as UCI publishes them: columns, addresses, checksums."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Download:
    """An address of a data set, with size and SHA-256 if known beforehand."""

    url: str
    size: int | None = None
    sha256: str | None = None

    @property
    def filename(self) -> str:
        """Name of the file: the last part of the address."""
        return self.url.rsplit("/", 1)[-1]


@dataclasses.dataclass(frozen=True)
class Published:
    """A published data set: the label, then these columns, one event per line."""

    name: str
    rows: int
    columns: tuple[str, ...]
    downloads: tuple[Download, ...]
    page: str

    @property
    def fields(self) -> int:
        """Number of fields per line: the label and the features."""
        return 1 + len(self.columns)


_ARCHIVE = "https://archive.ics.uci.edu"

HIGGS = Published(
    name="higgs",
    rows=11_000_000,
    columns=(
        "lepton_pT",
        "lepton_eta",
        "lepton_phi",
        "missing_energy_magnitude",
        "missing_energy_phi",
        *(
            f"jet_{j}_{part}"
            for j in range(1, 5)
            for part in ("pt", "eta", "phi", "b-tag")
        ),
        "m_jj",
        "m_jjj",
        "m_lv",
        "m_jlv",
        "m_bb",
        "m_wbb",
        "m_wwbb",
    ),
    downloads=(
        Download(
            f"{_ARCHIVE}/ml/machine-learning-databases/00280/HIGGS.csv.gz",
            size=2_816_407_858,
            # The hash that several projects use; UCI does not publish one.
            sha256="ea302c18164d4e3d916a1e2e83a9a8d07069fa6ebc7771e4c0540d54e593b698",
        ),
        Download(f"{_ARCHIVE}/static/public/280/higgs.zip"),
    ),
    page=f"{_ARCHIVE}/dataset/280/higgs",
)

SUSY = Published(
    name="susy",
    rows=5_000_000,
    columns=(
        "lepton_1_pT",
        "lepton_1_eta",
        "lepton_1_phi",
        "lepton_2_pT",
        "lepton_2_eta",
        "lepton_2_phi",
        "missing_energy_magnitude",
        "missing_energy_phi",
        "MET_rel",
        "axial_MET",
        "M_R",
        "M_TR_2",
        "R",
        "MT2",
        "S_R",
        "M_Delta_R",
        "dPhi_r_b",
        "cos_theta_r1",
    ),
    downloads=(
        Download(f"{_ARCHIVE}/ml/machine-learning-databases/00279/SUSY.csv.gz"),
        Download(f"{_ARCHIVE}/static/public/279/susy.zip"),
    ),
    page=f"{_ARCHIVE}/dataset/279/susy",
)

SETS = {published.name: published for published in (HIGGS, SUSY)}
