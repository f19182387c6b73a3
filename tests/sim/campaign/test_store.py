"""The folder of a campaign: whole files only, taken up again, and no other campaign's."""

import json
import os

import pytest

from phistar.errors import FileError
from phistar.sim.campaign import store as store_module
from phistar.sim.campaign.perform import Done
from phistar.sim.campaign.store import FOLD_AFTER, Store, read_rows

parquet = pytest.importorskip("pyarrow.parquet")
SAME = {"scene": "s", "content": "0123", "seed": 3, "sampling": "random", "vary": {}}


def row(run, **more):
    return {"run": run, "seed": 10 * run, "outcome": "completed", "reason": None} | more


def test_rows_come_back_as_they_were_whether_folded_or_not(tmp_path):
    store = Store.open(tmp_path / "c", SAME, resume=False)
    given = {
        0: row(0, force=1.5, count=3, flag=True, text="a"),
        1: row(1, force=None, count=4, flag=None, text=None),
        2: row(2, force=2, other="x"),
    }
    for each in given.values():
        store.add(Done(each, {}))
    filled = {run: {name: each.get(name) for name in {**given[0], "other": None}} for run, each in given.items()}
    before = read_rows(tmp_path / "c")
    assert {run: {**filled[run], **each} for run, each in before.items()} == filled
    store.close()
    assert read_rows(tmp_path / "c") == filled
    table = parquet.read_table(tmp_path / "c" / "runs.parquet")
    assert [str(table.schema.field(name).type) for name in ("run", "force", "flag", "text", "reason")] == [
        "int64", "double", "bool", "string", "null",
    ]  # fmt: skip
    assert not (tmp_path / "c" / "parts").exists() and not (tmp_path / "c" / ".lock").exists()


def test_a_finished_run_is_on_the_disk_at_once_and_its_files_before_its_row(tmp_path, monkeypatch):
    store = Store.open(tmp_path / "c", SAME, resume=False)
    store.add(Done(row(5), {"summary.json": b"{}"}))
    assert list(read_rows(tmp_path / "c")) == [5]
    assert (tmp_path / "c" / "kept" / "000005" / "summary.json").read_bytes() == b"{}"
    monkeypatch.setattr("phistar.sim.campaign.store._write", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(FileError, match="disk full"):
        store.add(Done(row(6), {"summary.json": b"{}"}))
    assert list(read_rows(tmp_path / "c")) == [5] and (tmp_path / "c" / "kept" / "000006").is_dir()
    assert not list((tmp_path / "c" / "parts").glob(".*"))


def test_many_parts_are_folded_on_the_way(tmp_path):
    store = Store.open(tmp_path / "c", SAME, resume=False)
    for run in range(FOLD_AFTER + 3):
        store.add(Done(row(run), {}))
    assert len(list((tmp_path / "c" / "parts").iterdir())) == 3
    assert list(read_rows(tmp_path / "c")) == list(range(FOLD_AFTER + 3))


def test_a_part_folded_but_not_yet_removed_counts_once(tmp_path):
    store = Store.open(tmp_path / "c", SAME, resume=False)
    store.add(Done(row(0), {}))
    part = tmp_path / "c" / "parts" / "00000000.parquet"
    content = part.read_bytes()
    store.fold()
    part.write_bytes(content)
    assert read_rows(tmp_path / "c") == {0: row(0)}


def test_a_damaged_part_is_a_run_to_do_again_and_unfinished_files_go(tmp_path):
    store = Store.open(tmp_path / "c", SAME, resume=False)
    for run in range(2):
        store.add(Done(row(run), {}))
    (tmp_path / "c" / "parts" / "00000001.parquet").write_bytes(b"PAR1 no")
    (tmp_path / "c" / "parts" / ".00000002.parquet.ab12").write_bytes(b"PA")
    store.lock.close()
    again = Store.open(tmp_path / "c", SAME, resume=True)
    assert list(again.rows) == [0]
    assert [path.name for path in (tmp_path / "c" / "parts").iterdir()] == ["00000000.parquet"]


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"scene": "t"}, "holds a campaign of the scene s, not t"),
        ({"content": "4567"}, "its file, or one that it names, has changed"),
        ({"seed": 4, "sampling": "random", "vary": {}}, "of seed 3, not 4"),
    ],
)
def test_another_campaigns_folder_is_refused(tmp_path, other, sentence):
    store = Store.open(tmp_path / "c", SAME, resume=False)
    store.add(Done(row(0), {}))
    store.close()
    with pytest.raises(FileError, match=sentence):
        Store.open(tmp_path / "c", SAME | other, resume=True)
    assert read_rows(tmp_path / "c") == {0: row(0)}


def test_a_folder_is_taken_up_only_where_asked_and_only_once_at_a_time(tmp_path):
    store = Store.open(tmp_path / "c", SAME, resume=False)
    with pytest.raises(FileError, match="A campaign is running in"):
        Store.open(tmp_path / "c", SAME, resume=True)
    store.add(Done(row(0), {}))
    store.close()
    with pytest.raises(FileError, match="holds 1 runs of a campaign already; --resume does the rest"):
        Store.open(tmp_path / "c", SAME, resume=False)


def test_a_campaign_in_which_nothing_had_finished_begins_anew(tmp_path):
    Store.open(tmp_path / "c", SAME, resume=False).close()
    Store.open(tmp_path / "c", SAME | {"seed": 9, "sampling": "random", "vary": {}}, resume=False).close()
    assert json.loads((tmp_path / "c" / "campaign.json").read_text())["seed"] == 9


@pytest.mark.parametrize("name", ["parts", "kept", "campaign.json", "runs.parquet", ".lock"])
def test_links_in_a_strangers_folder_lead_to_nothing_that_is_changed(tmp_path, name):
    """What lies in `parts` is removed when it is folded, and a lock is opened for writing."""
    outside = tmp_path / "outside"
    outside.mkdir()
    for precious in (".profile", "other.parquet"):
        (outside / precious).write_text("work of years")
    folder = tmp_path / "c"
    folder.mkdir()
    (folder / name).symlink_to(outside if name in ("parts", "kept") else outside / ".profile")
    with pytest.raises(FileError, match=r"leads out of its folder|\.lock cannot be written"):
        Store.open(folder, SAME, resume=True)
    assert {path.name: path.read_text() for path in outside.iterdir()} == dict.fromkeys(
        (".profile", "other.parquet"), "work of years"
    )


def test_folders_that_hold_something_else_are_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("work of years")
    with pytest.raises(FileError, match="holds other things and no campaign"):
        Store.open(tmp_path, SAME, resume=True)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(FileError, match="is a file; a campaign needs a folder"):
        Store.open(tmp_path / "thesis.tex", SAME, resume=False)


@pytest.mark.parametrize("text", ["{", "[]", '{"format_version": 99}'])
def test_a_campaign_json_of_no_known_form_is_refused(tmp_path, text):
    (tmp_path / "campaign.json").write_text(text)
    with pytest.raises(FileError, match=r"campaign\.json"):
        Store.open(tmp_path, SAME, resume=True)


def test_damaged_rows_are_told(tmp_path):
    store = Store.open(tmp_path / "c", SAME, resume=False)
    store.add(Done(row(0), {}))
    store.close()
    (tmp_path / "c" / "runs.parquet").write_bytes(b"nothing")
    with pytest.raises(FileError, match="damaged"):
        Store.open(tmp_path / "c", SAME, resume=True)


def test_rows_are_read_under_the_lock_so_that_no_stale_ones_are_written_back(tmp_path, monkeypatch):
    """Two resume at once: the second reads what the first left, never what stood there before it."""
    first = Store.open(tmp_path / "c", SAME, resume=True)
    for run in range(3):
        first.add(Done(row(run), {}))
    plain, opened = store_module._lock, []

    def late(folder):
        """The first goes on and ends while the second is about to take the lock."""
        if not opened:
            opened.append(True)
            for run in range(3, 8):
                first.add(Done(row(run), {}))
            first.close()
        return plain(folder)

    monkeypatch.setattr(store_module, "_lock", late)
    second = Store.open(tmp_path / "c", SAME, resume=True)
    assert sorted(second.rows) == list(range(8))
    second.close()
    assert sorted(read_rows(tmp_path / "c")) == list(range(8))


def test_a_lock_that_was_removed_meanwhile_is_not_taken_for_the_new_one(tmp_path):
    pytest.importorskip("fcntl")
    first = Store.open(tmp_path / "c", SAME, resume=True)
    with pytest.raises(FileError, match="at this moment"):
        Store.open(tmp_path / "c", SAME, resume=True)
    (tmp_path / "c" / ".lock").unlink()
    second = Store.open(tmp_path / "c", SAME, resume=True)
    assert (tmp_path / "c" / ".lock").stat().st_ino == os.fstat(second.lock.fileno()).st_ino
    first.lock.close()
    second.close()


def test_a_refused_folder_is_left_as_it_was(tmp_path):
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(FileError, match="other things"):
        Store.open(tmp_path, SAME, resume=True)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_parquet_that_stands_for_a_billion_rows_is_refused_before_they_are_made(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    Store.open(tmp_path / "c", SAME, resume=False).close()
    many = {f"c{k}": pyarrow.array([0] * 1_000_000, pyarrow.int8()) for k in range(101)}
    parquet.write_table(pyarrow.table(many), tmp_path / "c" / "runs.parquet")
    with pytest.raises(FileError, match="more than are read"):
        Store.open(tmp_path / "c", SAME, resume=True)
    parquet.write_table(pyarrow.table({"other": [1, 2]}), tmp_path / "c" / "runs.parquet")
    with pytest.raises(FileError, match="no run or no outcome"):
        Store.open(tmp_path / "c", SAME, resume=True)
