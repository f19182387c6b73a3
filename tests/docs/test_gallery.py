"""The gallery: twelve scenes, each with its program, its sentence and its film."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = sorted((ROOT / "examples" / "gallery").glob("*.py"))
FILMS = ROOT / "docs" / "static" / "films"
SMALL = 400_000  # bytes: they are kept beside the pages


def test_every_program_has_a_small_film_and_every_film_a_program():
    assert len(PROGRAMS) >= 12
    assert {path.stem for path in FILMS.glob("*.mp4")} == {path.stem for path in PROGRAMS}
    assert all(10_000 < path.stat().st_size < SMALL for path in FILMS.glob("*.mp4"))


def test_the_page_shows_each_with_its_sentence(tmp_path):
    made = runpy.run_path(str(ROOT / "docs" / "generate_gallery.py"))
    text = made["write"](tmp_path).read_text("utf-8")
    assert "films.txt" in (ROOT / "docs" / "gallery.md").read_text("utf-8")
    for path in PROGRAMS:
        assert f"_static/films/{path.stem}.mp4" in text and f"examples/gallery/{path.stem}.py" in text
        assert len(made["sentence"](path)) > 20


@pytest.mark.slow
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_moves_and_can_be_filmed(path, tmp_path):
    pytest.importorskip("av", reason="films need av")
    film = runpy.run_path(str(ROOT / "tools" / "gallery.py"))["film"]
    assert film(path, tmp_path, (64, 48), 2.0).stat().st_size > 500
