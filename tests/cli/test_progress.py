"""Progress where there is no terminal: a line every few seconds, and none before."""

from phistar.cli import progress


def test_a_log_gets_a_line_every_few_seconds(capsys, monkeypatch):
    clock = iter([0.0, 1.0, 5.5, 5.5, 6.0, 11.0, 11.0])  # at the start; then at each call, and once more for a line
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with progress.SimulationProgress("grapple", 60.0) as reached:
        for simulated in (0.5, 2.0, 3.0, 4.25):
            reached(simulated)
    told = capsys.readouterr()
    assert told.err.splitlines() == ["grapple: 2.00 s of at most 60 s", "grapple: 4.25 s of at most 60 s"]
    assert told.out == ""
