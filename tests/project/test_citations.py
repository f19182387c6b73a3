"""Every equation, section, lemma, table and figure that is cited of the five papers exists there."""

import re
import tomllib
from pathlib import Path

import pytest

from tests.programs import program

ROOT = Path(__file__).resolve().parents[2]
NUMBERS = tomllib.loads((ROOT / "tests/data/papers/numbers.toml").read_text())
PLACES = ("src", "docs", "notebooks", "examples", "benchmarks", "tools", "tests", "README.md", "CHANGELOG.md")
CITING = [ROOT / place for place in PLACES]

GENERATED = program("tools/pages.py")._generated  # pages that the site's programs write
CELLS = program("tools/notebooks.py").cells

# A paper's key, or another source: what follows a key, up to the next one or the end of the sentence, is about it.
KEY = re.compile(r"\b(RJK91|KJR92|R87|RJ2W|WD89|[A-Z]{2,4}\d{2}|Featherstone|Khatib|Jain 20\d\d)\b")
SENTENCE = re.compile(r"\n\s*\n|\n *\"?= |[.;:?!]\s+(?=[A-Z«(`*])|\"\"\"|$(?![\s\S])|\bhere\b|\|")
NUMBER = r"(?:\d+(?:\.\d+)?|[IVX]+)"
MANY = rf"{NUMBER}(?:(?:\s?[-–]\s?|,? and |, ){NUMBER})*"
KINDS = {
    "equations": r"(?:eqs?\.|[Ee]quations?)",
    "sections": r"(?:§§?|[Ss]ections?)",
    "lemmas": r"[Ll]emmas?",
    "algorithms": r"Algorithms?",
    "identities": r"[Ii]dentit(?:y|ies)",
    "tables": r"Tables?",
    "figures": r"(?:Figs?\.|[Ff]igures?)",
}
CITED = {kind: re.compile(rf"{word}[ \n]?({MANY})(?![\w])") for kind, word in KINDS.items()}
# Without a key beside them, numbers are about a paper that the file names, unless another author is named; lemmas are
# RJK91's alone.
OTHERS = re.compile(r"Landau|Murray|Higham|Hairer|Wanner|Battin|Rubinstein|IFToMM")
BEFORE = (
    "by",
    "of",
    "in",
    "than",
    "from",
    "with",
    "is",
    "after",
    "before",
    "are",
    "split",
    "matrix",
    "law",
    "laws",
    "equation",
    "equations",
    "and",
    "to",
)
LOOSE = re.compile(
    "(?:" + "|".join(rf"(?<=\b{word} )" for word in BEFORE) + r"|(?<=\)-)|(?<=\), ))\((\d{1,3})\)(?![\w(])"
)
BARE = re.compile(r"(?<![\w\])}])\((\d{1,3}(?:[-–]\d{1,3})?(?:, \d{1,3}(?:[-–]\d{1,3})?)*)\)")
ROMAN = ["0", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII", "XIII", "XIV", "XV"]


def numbers(text):
    """'27-31, 33' or 'II and III' as the numbers at its ends."""
    return re.findall(NUMBER, text)


def missing(paper, kind, text):
    """The numbers of a citation that its paper does not have."""
    known = NUMBERS[paper].get(kind, 0)
    if kind == "sections":
        return [n for n in numbers(text) if n not in known]
    values = [ROMAN.index(n) if n in ROMAN[1:] else n for n in numbers(text)]
    return [n for n in values if not (str(n).isdigit() and 1 <= int(n) <= known)]


def citations(text):
    """Triples (paper, kind, numbers) after the key of each paper."""
    for key in KEY.finditer(text):
        if key.group() not in NUMBERS:
            continue
        after = KEY.search(text, key.end())
        end = min(SENTENCE.search(text, key.end()).start(), after.start() if after else len(text))
        for kind, pattern in CITED.items():
            for found in pattern.finditer(text[key.end() : end]):
                yield key.group(), kind, found.group(1)


def keyless_citations(text):
    """Triples (paper, kind, numbers) of what stands without a key, '(eq. 58)' or 'by (58)': of the papers that the file
    names, one that has the numbers, or the last."""
    keys = list(KEY.finditer(text))
    spans = [(key.start(), SENTENCE.search(text, key.end()).start()) for key in keys]
    papers = dict.fromkeys(key.group() for key in keys if key.group() in NUMBERS)
    for kind, pattern in [*CITED.items(), ("equations", LOOSE)]:
        for found in pattern.finditer(text) if papers else ():
            beside = pattern is not LOOSE and any(start <= found.start() < end for start, end in spans)
            if not beside and not OTHERS.search(text[max(0, found.start() - 120) : found.start()]):
                about = ["RJK91"] if kind == "lemmas" else papers
                having = [paper for paper in about if not missing(paper, kind, found.group(1))]
                yield (having or list(about))[-1], kind, found.group(1)


def notebook_citations(paper, whole):
    """Those of a paper's own notebook, which need no key; '(12)' in its prose and titles is an equation."""
    for line in whole.splitlines():
        others = [key for key in KEY.findall(line) if key != paper]
        if others:
            continue
        for kind, pattern in CITED.items():
            yield from ((paper, kind, found.group(1)) for found in pattern.finditer(line))
        told = [line] if line.startswith("# ") else [*re.findall(r'"([^"]*)"', line), line.partition("  # ")[2]]
        for text in told:  # in code, what is printed and what is remarked
            yield from ((paper, "equations", found.group(1)) for found in BARE.finditer(text))


def files():
    for place in CITING:
        found = [place] if place.is_file() else sorted(p for p in place.rglob("*") if p.suffix in (".py", ".md"))
        yield from (path for path in found if not GENERATED(path) and path.name != Path(__file__).name)


def test_the_list_of_numbers_names_its_sources():
    assert sorted(NUMBERS) == ["KJR92", "R87", "RJ2W", "RJK91", "WD89"]
    assert all(entry["source"] and entry["equations"] for entry in NUMBERS.values())


@pytest.mark.parametrize(("found_by", "least"), [(citations, 600), (keyless_citations, 60)], ids=["keyed", "keyless"])
def test_every_citation_exists_in_its_paper(found_by, least):
    wrong, seen = [], 0
    for path in files():
        text = path.read_text(encoding="utf-8")
        for paper, kind, cited in found_by(text):
            seen += 1
            wrong += [f"{path.relative_to(ROOT)}: {paper} {kind} {cited}" for _ in missing(paper, kind, cited)[:1]]
    assert not wrong, "\n".join(wrong)
    assert seen > least  # the pattern still finds them


@pytest.mark.parametrize("paper", sorted(NUMBERS))
def test_every_citation_of_a_notebook_exists_in_its_paper(paper):
    found = list(notebook_citations(paper, (ROOT / f"notebooks/{paper.lower()}.py").read_text(encoding="utf-8")))
    wrong = [f"{kind} {cited}" for _, kind, cited in found if missing(paper, kind, cited)]
    assert not wrong, wrong
    assert len(found) > 5


def spanned(text):
    """'27-31, 33' as all the numbers it covers."""
    found = set()
    for part in re.split(r",? and |, ", text):
        first, *last = [ROMAN.index(n) if n in ROMAN[1:] else int(n) for n in numbers(part)]
        found |= set(range(first, (last[-1] if last else first) + 1))
    return found


def shown_in_code(source):
    """The equations that a notebook's code names where it computes: in what it prints, in remarks, in docstrings."""
    numbers_there = set()
    for kind, text in CELLS(source):
        if kind == "code":
            told = re.findall(r'"([^"]*)"', text) + re.findall(r"# (.*)", text)
            spans = (span for part in told for span in re.findall(r"\((\d{1,3})\)(?:-\((\d{1,3})\))?", part))
            numbers_there.update(n for first, last in spans for n in range(int(first), int(last or first) + 1))
    return numbers_there


def left_out(source):
    """What its text says is left out."""
    text = " ".join(text for kind, text in CELLS(source) if kind == "markdown")
    sentences = [x for x in re.split(r"(?<=[.;:])\s+", text) if re.search(r"left out|not drawn", x)]
    return set().union(*(spanned(x) for sentence in sentences for x in BARE.findall(sentence)), set())


@pytest.mark.parametrize("paper", sorted(NUMBERS))
def test_a_notebook_computes_every_numbered_equation_of_its_paper(paper):
    """Or says that it is left out; titles do not count."""
    source = (ROOT / f"notebooks/{paper.lower()}.py").read_text(encoding="utf-8")
    wanted = set(range(1, NUMBERS[paper]["equations"] + 1))
    assert wanted - shown_in_code(source) - left_out(source) == set()
    assert len(wanted & left_out(source)) <= 2


@pytest.mark.parametrize("paper", sorted(NUMBERS))
def test_a_notebook_speaks_of_every_lemma_table_and_figure_of_its_paper(paper):
    """Shown, or said to be left out; titles do not count."""
    source = (ROOT / f"notebooks/{paper.lower()}.py").read_text(encoding="utf-8")
    text = "\n".join(line for line in source.splitlines() if not line.startswith(("# #", "# **§")))
    found = list(notebook_citations(paper, text))
    for kind in ("lemmas", "tables", "figures", "algorithms"):
        told = set().union(*(spanned(cited) for _, each, cited in found if each == kind), set())
        assert set(range(1, NUMBERS[paper].get(kind, 0) + 1)) - told == set(), kind


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("(WD89 §2.6)", ("WD89", "sections", "2.6")),
        ("(RJK91 lemma 6, eq. 12)", ("RJK91", "lemmas", "6")),
        ("(R87 eqs. 84-88)", ("R87", "equations", "84-88")),
        ("(KJR92 §2, eq. 75)", ("KJR92", "equations", "75")),
        ("R87's Fig. 5", ("R87", "figures", "5")),
        ("R87 Tables II and IV", ("R87", "tables", "II and IV")),
    ],
)
def test_a_citation_of_what_a_paper_does_not_have_is_found(text, cited):
    assert cited in list(citations(text))
    assert missing(*cited)


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("From R87. The form\n\nof P is (eq. 87).", ("R87", "equations", "87")),
        ("KJR92 says so.\n\nΩ by (75).", ("KJR92", "equations", "75")),
        ("(RJK91 §6).\n\nHere (34) and (35)-(99) of the paper.", ("RJK91", "equations", "99")),
        ("As in WD89.\n\nThe steps of §2.6.", ("WD89", "sections", "2.6")),
    ],
)
def test_a_citation_without_its_key_is_found(text, cited):
    assert cited in list(keyless_citations(text))
    assert missing(*cited)
