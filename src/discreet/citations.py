"""The theorems and papers behind an answer, by what was used for it: `answer.cite()`.

The sources of a mechanism are those that its own docstring names; a test compares them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from discreet.errors import InvalidParameter


@dataclass(frozen=True, slots=True)
class Paper:
    """One publication."""

    key: str
    kind: str  # of entry, as BibTeX has it
    authors: str
    title: str
    where: str
    year: int

    @property
    def bibtex(self) -> str:
        """The entry for a bibliography."""
        place = {"article": "journal", "inproceedings": "booktitle"}.get(self.kind, "howpublished")
        fields = {"author": self.authors, "title": f"{{{self.title}}}", place: self.where, "year": str(self.year)}
        lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
        return f"@{self.kind}{{{self.key},\n{lines},\n}}"


@dataclass(frozen=True, slots=True)
class Theorem:
    """What something that was used promises, the sources of that, and the papers among them."""

    promise: str
    source: str
    papers: tuple[str, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Citations:
    """The theorems that an answer rests on, in the order in which they were used; prints as text.

    >>> cited(["Laplace", "pure filter"])
    Laplace noise on whole numbers: a difference of l1 in the numbers is a loss of l1 / scale.
      Dwork, McSherry, Nissim, Smith, 2006, Theorem 1; Ghosh, Roughgarden, Sundararajan, 2012 (on the integers).
    Questions chosen by the answers before them: their epsilons add up to the budget at most.
      Rogers, Roth, Ullman, Vadhan, 2016 (pure).
    """

    theorems: tuple[Theorem, ...]

    @property
    def papers(self) -> tuple[Paper, ...]:
        """The publications, each once."""
        return tuple(PAPERS[key] for key in dict.fromkeys(key for each in self.theorems for key in each.papers))

    def bibtex(self) -> str:
        """Return the entries for a bibliography."""
        return "\n\n".join(paper.bibtex for paper in self.papers)

    def __repr__(self) -> str:
        return "\n".join(f"{theorem.promise}\n  {theorem.source}" for theorem in self.theorems)


def cited(used: Iterable[str]) -> Citations:
    """Return the citations of things by their names in the table below."""
    names = list(used)
    if unknown := [name for name in names if name not in THEOREMS]:
        raise InvalidParameter(f"there is no theorem {unknown[0]!r:.60}; there is {', '.join(map(repr, THEOREMS))}.")
    return Citations(tuple(THEOREMS[name] for name in names))


_TCC, _POPETS = "Theory of Cryptography (TCC)", "Proceedings on Privacy Enhancing Technologies"
_ICML, _NEURIPS = "International Conference on Machine Learning (ICML)", "Neural Information Processing Systems"

PAPERS = {
    paper.key: paper
    for paper in (
        Paper(
            "DworkMNS2006",
            "inproceedings",
            "Cynthia Dwork and Frank McSherry and Kobbi Nissim and Adam Smith",
            "Calibrating noise to sensitivity in private data analysis",
            _TCC,
            2006,
        ),
        Paper(
            "GhoshRS2012",
            "article",
            "Arpita Ghosh and Tim Roughgarden and Mukund Sundararajan",
            "Universally utility-maximizing privacy mechanisms",
            "SIAM Journal on Computing",
            2012,
        ),
        Paper(
            "BalleW2018",
            "inproceedings",
            "Borja Balle and Yu-Xiang Wang",
            "Improving the Gaussian mechanism for differential privacy: analytical calibration and optimal denoising",
            _ICML,
            2018,
        ),
        Paper(
            "DongRS2022",
            "article",
            "Jinshuo Dong and Aaron Roth and Weijie Su",
            "Gaussian differential privacy",
            "Journal of the Royal Statistical Society, Series B",
            2022,
        ),
        Paper(
            "HayRMS2010",
            "article",
            "Michael Hay and Vibhor Rastogi and Gerome Miklau and Dan Suciu",
            "Boosting the accuracy of differentially private histograms through consistency",
            "Proceedings of the VLDB Endowment",
            2010,
        ),
        Paper(
            "CormodePSSY2012",
            "inproceedings",
            "Graham Cormode and Cecilia Procopiuc and Divesh Srivastava and Entong Shen and Ting Yu",
            "Differentially private spatial decompositions",
            "International Conference on Data Engineering (ICDE)",
            2012,
        ),
        Paper(
            "DesfontainesVGM2022",
            "article",
            "Damien Desfontaines and James Voss and Bryant Gipson and Chinmoy Mandayam",
            "Differentially private partition selection",
            _POPETS,
            2022,
        ),
        Paper(
            "KairouzOV2015",
            "inproceedings",
            "Peter Kairouz and Sewoong Oh and Pramod Viswanath",
            "The composition theorem for differential privacy",
            _ICML,
            2015,
        ),
        Paper(
            "KorolovaKMN2009",
            "inproceedings",
            "Aleksandra Korolova and Krishnaram Kenthapadi and Nina Mishra and Alexandros Ntoulas",
            "Releasing search queries and clicks privately",
            "International Conference on World Wide Web (WWW)",
            2009,
        ),
        Paper(
            "RogersRUV2016",
            "inproceedings",
            "Ryan Rogers and Aaron Roth and Jonathan Ullman and Salil Vadhan",
            "Privacy odometers and filters: pay-as-you-go composition",
            _NEURIPS,
            2016,
        ),
        Paper(
            "FeldmanZ2021",
            "inproceedings",
            "Vitaly Feldman and Tijana Zrnic",
            "Individual privacy accounting via a {R}enyi filter",
            _NEURIPS,
            2021,
        ),
        Paper(
            "Lecuyer2021",
            "misc",
            "Mathias Lecuyer",
            "Practical privacy filters and odometers with {R}enyi differential privacy and applications to "
            "differentially private deep learning",
            "arXiv:2103.01379",
            2021,
        ),
        Paper(
            "WhitehouseRRW2023",
            "inproceedings",
            "Justin Whitehouse and Aaditya Ramdas and Ryan Rogers and Zhiwei Steven Wu",
            "Fully-adaptive composition in differential privacy",
            _ICML,
            2023,
        ),
        Paper(
            "Birnbaum1948",
            "article",
            "Zygmunt W. Birnbaum",
            "On random variables with comparable peakedness",
            "Annals of Mathematical Statistics",
            1948,
        ),
        Paper(
            "WilsonZLDSG2020",
            "article",
            "Royce J. Wilson and Celia Yuxin Zhang and William Lam and Damien Desfontaines and Daniel "
            "Simmons-Marengo and Bryant Gipson",
            "Differentially private {SQL} with bounded user contribution",
            _POPETS,
            2020,
        ),
    )
}

THEOREMS = {
    "Laplace": Theorem(
        "Laplace noise on whole numbers: a difference of l1 in the numbers is a loss of l1 / scale.",
        "Dwork, McSherry, Nissim, Smith, 2006, Theorem 1; Ghosh, Roughgarden, Sundararajan, 2012 (on the integers).",
        ("DworkMNS2006", "GhoshRS2012"),
    ),
    "Gaussian": Theorem(
        "Normal noise, rounded to whole numbers: its exact curve of epsilon and delta.",
        'Balle, Wang, "Improving the Gaussian mechanism", 2018, Theorem 8; Dong, Roth, Su, 2022, Theorem 2.7.',
        ("BalleW2018", "DongRS2022"),
    ),
    "QuantileTree": Theorem(
        "Counts of bins, of groups of bins and so on, made consistent by least squares; quantiles are read off them.",
        "Hay, Rastogi, Miklau, Suciu, 2010 (the tree, and consistency); Cormode, Procopiuc, Srivastava, Shen, Yu, "
        '"Differentially private spatial decompositions", 2012 (greater branching).',
        ("HayRMS2010", "CormodePSSY2012"),
    ),
    "PartitionSelection": Theorem(
        "Private keys, each named with the greatest probability that its epsilon and delta allow.",
        'Desfontaines, Voss, Gipson, Mandayam, "Differentially private partition selection", 2022, Theorem 1; Kairouz, '
        "Oh, Viswanath, 2015, Theorem 3.3 (an (e, d) step is lost with d, and otherwise randomised response).",
        ("DesfontainesVGM2022", "KairouzOV2015"),
    ),
    "NoisyKeys": Theorem(
        "Private keys whose noisy number of units is above a threshold.",
        'Korolova, Kenthapadi, Mishra, Ntoulas, "Releasing search queries and clicks privately", 2009 (Laplace); '
        "Desfontaines, Voss, Gipson, Mandayam, 2022, Section 3 (both noises); src/discreet/dp/noisy_keys.py.",
        ("KorolovaKMN2009", "DesfontainesVGM2022"),
    ),
    "Averaged": Theorem(
        "Several releases of one number, combined by inverse variance.",
        'Birnbaum, "On random variables with comparable peakedness", 1948 (symmetric densities that fall from 0).',
        ("Birnbaum1948",),
    ),
    "rows": Theorem(
        "A row is a unit: one row, times the rows of public tables that it finds, is what a unit moves.",
        "Dwork, McSherry, Nissim, Smith, 2006 (counting and summing).",
        ("DworkMNS2006",),
    ),
    "weighted": Theorem(
        "A unit with more than R rows has each of them counted at the weight R / n.",
        "src/discreet/engine/bound.py, where it is proved; the expectation of the sample of Wilson and others, 2020.",
        ("WilsonZLDSG2020",),
    ),
    "groups": Theorem(
        "A unit in more than m groups has each at the weight m / n, and at most k rows of it in one.",
        "src/discreet/engine/bound.py, where it is proved; the expectation of the sample of Wilson and others, 2020.",
        ("WilsonZLDSG2020",),
    ),
    "sampled": Theorem(
        "A unit counts in m groups at most, chosen by a secret hash, and with at most k rows in one.",
        "Wilson, Zhang, Lam, Desfontaines, Simmons-Marengo, Gipson, 2020 (bounded contributions).",
        ("WilsonZLDSG2020",),
    ),
    "pure filter": Theorem(
        "Questions chosen by the answers before them: their epsilons add up to the budget at most.",
        "Rogers, Roth, Ullman, Vadhan, 2016 (pure).",
        ("RogersRUV2016",),
    ),
    "Renyi filter": Theorem(
        "Questions chosen by the answers before them: their Renyi losses of one order add up to the budget at most.",
        "Feldman, Zrnic, 2021, and Lecuyer, 2021 (fixed-order Renyi).",
        ("FeldmanZ2021", "Lecuyer2021"),
    ),
    "zCDP filter": Theorem(
        "Questions chosen by the answers before them: their rhos add up to the budget at most.",
        "Whitehouse, Ramdas, Rogers, Wu, 2023 (zCDP).",
        ("WhitehouseRRW2023",),
    ),
}
