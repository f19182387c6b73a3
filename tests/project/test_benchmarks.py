"""The benchmark program runs, compares equal things and prints ratios; how large they are is never asserted."""

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

import phistar as ps
from phistar import dynamics
from phistar.backends.machine.jit import Target, host
from phistar.cli.benchmark import benchmark_tasks, peer_mujoco, peer_pinocchio, robots, timing
from phistar.cli.benchmark.benchmark_plan import FULL, QUICK, plan_for
from phistar.cli.benchmark.measure import difference, entrant
from phistar.cli.benchmark.peak import CHAINS, loop_function, peak
from phistar.cli.benchmark.profile import Instructions, count_instructions
from phistar.cli.benchmark.single_calls import single_calls
from phistar.cli.benchmark.targets import REACHED, targets, verdicts
from phistar.cli.benchmark.targets import Target as Goal
from phistar.cli.benchmark.timing import Contestant, contest
from phistar.stated import StatedFunction

ROOT = Path(__file__).resolve().parents[2]
NOTHING = {"results": [], "single": [], "calls": [], "chains": [], "threads": [], "float32": []}


@pytest.fixture(scope="module")
def quick_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    program = [sys.executable, str(ROOT / "benchmarks" / "engine.py"), "--robot", "planar2", "--seconds", "0.005"]
    kept = ["--json", str(folder / "bench.json"), "--plot", str(folder / "bench.svg")]
    done = subprocess.run([*program, *kept], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout, folder


@pytest.mark.slow
def test_the_program_runs_and_prints_a_ratio(quick_run):
    pytest.importorskip("pinocchio", reason="pin is not installed")
    printed, folder = quick_run
    rows = json.loads((folder / "bench.json").read_text())["results"]
    ratio = next(row["pin_cpp_ratio"] for row in rows if row["function"] == benchmark_tasks.FORWARD)
    assert f" {ratio:.3g} " in printed


def test_every_figure_of_a_result_is_there(quick_run):
    rows = json.loads((quick_run[1] / "bench.json").read_text())["results"]
    assert {row["function"] for row in rows} >= {
        benchmark_tasks.FORWARD,
        benchmark_tasks.INVERSE,
        benchmark_tasks.MASS,
        benchmark_tasks.MASS_INVERSE,
    }
    for row in rows:
        names = ("ours_ns", "operations", "peak_fraction", "first_call_s", "cached_call_s", "code_bytes")
        assert all(row[name] > 0 for name in names), row


def test_a_profile_bounds_the_time_by_the_multiplications(quick_run):
    facts = json.loads((quick_run[1] / "bench.json").read_text())
    if not host().triple.startswith("x86_64") or host().lanes < 4:
        pytest.skip("the instructions of this processor are not told apart")
    assert {row["function"] for row in facts["profiles"]} >= {
        benchmark_tasks.FORWARD,
        benchmark_tasks.INVERSE,
        benchmark_tasks.MASS,
    }
    for row in facts["profiles"]:
        parts = ("multiplying", "adding", "loading", "storing", "others")
        assert row["total"] == sum(row[part] for part in parts) and row["multiplying"] > 0
        assert row["bound_ns"] == pytest.approx(row["multiplying"] * 2 / facts["peak_gflops"])
        assert row["busy"] == pytest.approx(row["bound_ns"] / row["ours_ns"])


def test_instructions_are_told_apart_by_what_they_occupy():
    text = "part0:\n\tvmulpd\t%ymm0, %ymm1, %ymm2\n\tvfmadd213pd\t8(%rsp), %ymm1, %ymm2\n\tvsubpd\t%ymm0, %ymm1, %ymm1"
    text += "\n\tvmovupd\t%ymm1, 32(%rsp)\n\tvbroadcastsd\t.LC0(%rip), %ymm3\n\tvmovapd\t%ymm3, %ymm4\n\tret"
    assert count_instructions(text + "\nloop:\n\tvmulpd\t%ymm0, %ymm1, %ymm2") == Instructions(2, 1, 1, 1, 1)


def test_the_plot_is_a_picture_with_a_bar_for_each_ratio(quick_run):
    folder = quick_run[1]
    rows = json.loads((folder / "bench.json").read_text())["results"]
    ratios = [row[f"{peer}_ratio"] for row in rows for peer in ("pin_cpp", "pin_python", "mujoco")]
    texts = [element.text for element in ElementTree.parse(folder / "bench.svg").iter() if element.tag.endswith("text")]
    for ratio in filter(None, ratios):
        assert f"{ratio:.3g}×" in texts


@pytest.mark.slow
def test_a_file_that_cannot_be_written_is_refused_before_measuring(tmp_path):
    command = [sys.executable, "-m", "phistar", "bench", "--json", str(tmp_path / "missing" / "bench.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 2 and "cannot be written" in done.stderr


def test_contestants_run_in_turn():
    order: list[str] = []
    contest({name: Contestant(lambda name=name: order.append(name), 1) for name in "ab"}, seconds=0.0)
    changes = [name for name, after in zip(order, [*order[1:], ""]) if name != after]
    assert changes[-6:] == ["a", "b", "a", "b", "a", "b"]


def test_a_contest_gives_nanoseconds_per_state(monkeypatch):
    """By a clock that a call of one state advances by 5 µs and every other run by 1 µs more."""
    clock, runs = [0.0], [0]

    def call():
        runs[0] += 1
        clock[0] += 5e-6 + 1e-6 * (runs[0] % 2)

    monkeypatch.setattr(timing.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(timing, "SHORTEST_RUN", 5e-6)
    timed = contest({"ten": Contestant(call, 10)}, seconds=60e-6)
    assert timed["ten"].best == pytest.approx(500.0)
    assert 500.0 <= timed["ten"].median <= 600.0 + 1e-6


@pytest.mark.parametrize("target", [host(), Target(host().triple, "x86-64", "")], ids=["host", "baseline"])
def test_the_peak_is_measured_on_multiply_adds_that_are_carried_out(target):
    if "x86_64" not in target.triple:
        pytest.skip("the baseline is that of x86-64")
    a, b, x = 0.5, 0.25, 0.25
    for _ in range(7):
        x = a * x + b
    assert loop_function(target)(7, a, b) == pytest.approx(CHAINS * x, rel=1e-14)
    assert peak(0.0, target) > 0.0


CASES = [(name, function) for name in ("pendulum", "panda") for function in benchmark_tasks.FUNCTIONS]
CASES += [("anymal", function) for function in (benchmark_tasks.FORWARD, benchmark_tasks.INVERSE, benchmark_tasks.MASS)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "function"), CASES)
def test_ours_and_the_peers_compute_the_same(name, function):
    if not (peer_pinocchio.is_installed() and peer_mujoco.is_installed() and robots.available(name)):
        pytest.skip("the peers are not installed")
    robot = entrant(name)
    if not benchmark_tasks.present(function) or not benchmark_tasks.applies(function, robot.model):
        pytest.skip(f"{function} is not measured on {name}")
    states = benchmark_tasks.random_states(
        robot.model, 3, np.random.default_rng(7), rollout=function == benchmark_tasks.ROLLOUT
    )
    found = difference(robot, function, states)
    assert found is not None and found < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("name", ["panda", pytest.param("talos", marks=pytest.mark.slow)])
def test_single_calls_of_ours_and_of_pinocchio_give_the_same(name):
    if not (peer_pinocchio.is_installed() and robots.available(name)):
        pytest.skip("the peer is not installed")
    robot = entrant(name)
    states = benchmark_tasks.random_states(robot.model, 3, np.random.default_rng(8))
    found = {call["function"]: call for call in single_calls(robot.model, robot.pinocchio, states, 1e-3)}
    public = {name for name in dynamics.__all__ if callable(getattr(ps, name, None)) and name[0].islower()}
    assert public <= {name.split(",")[0] for name in found}
    assert all(call["differs"] < 1e-9 for call in found.values() if call["differs"] is not None)
    assert sum(call["differs"] is not None for call in found.values()) >= 25


@pytest.mark.slow
def test_single_calls_of_a_robot_with_a_loop_are_timed():
    if not (peer_pinocchio.is_installed() and robots.available("panda_gripper")):
        pytest.skip("the peer is not installed")
    robot = entrant("panda_gripper")
    assert robot.model.loops
    states = benchmark_tasks.random_states(robot.model, 2, np.random.default_rng(8))
    found = {call["function"]: call for call in single_calls(robot.model, robot.pinocchio, states, 1e-3)}
    assert found["forward_dynamics"]["ratio"] > 0 and found["forward_dynamics"]["differs"] is None


def test_every_target_is_met_by_the_figures_that_it_names():
    """Each target reads something of a full run."""
    ratio = dict.fromkeys(("pin_cpp_ratio", "pin_python_ratio", "mujoco_ratio"), 1e9)
    quick = {"first_call_s": 1e-9, "cached_call_s": 1e-9}
    results = [
        {"function": function, "robot": robot, **ratio, **quick}
        for robot, functions in FULL.functions.items()
        for function in functions
    ]
    calls = [{"function": "jacobian", "ratio": 1e9}, {"function": "joint_friction", "ratio": None}]
    public = {"handle_ratio": 1e9, "public_ratio": 1e9}
    single = [{"robot": robot, **public} for robot in FULL.single]
    every = [{"robot": robot, "calls": calls} for robot in FULL.calls]
    links = [{"links": int(name.removeprefix("chain")), "per_link_ns": 1.0} for name in FULL.chains]
    threads = [{"robot": robot, "ratio": 1e9} for robot in FULL.threads]
    short = [{"robot": robot, "function": "forward_dynamics", "ratio": 1e9} for robot in FULL.threads]
    facts = {"results": results, "single": single, "calls": every, "chains": links, "threads": threads}
    judged = verdicts(facts | {"float32": short})
    assert [row["what"] for row in judged if row["verdict"] != REACHED] == []
    assert len({row["what"] for row in judged}) == len(judged) == len(list(targets()))


@pytest.mark.parametrize(("found", "verdict"), [(None, "not measured"), (3.0, "reached"), (2.9, "missed")])
def test_a_verdict_compares_with_the_goal(found, verdict):
    assert Goal("a ratio", 3.0, lambda facts: found).judge(NOTHING)["verdict"] == verdict


def test_what_is_not_measured_is_said_to_be_so():
    assert {row["verdict"] for row in verdicts(NOTHING)} == {"not measured"}


def test_plans_name_robots_and_functions_that_are():
    for plan in (FULL, QUICK):
        assert {*plan.functions, *plan.calls, *plan.chains} <= set(robots.ROBOTS)
        assert {*plan.single, *plan.threads} <= set(plan.functions)
        assert {name for functions in plan.functions.values() for name in functions} <= set(benchmark_tasks.FUNCTIONS)
    assert tuple(plan_for(("planar2",), True, None).functions) == ("planar2",)


def test_the_accuracy_table_has_every_function_that_is_made_from_statements():
    kept = json.loads((ROOT / "benchmarks" / "accuracy.json").read_text("utf-8"))
    stated = {name for name in dir(ps) if isinstance(getattr(ps, name), StatedFunction)}
    assert len(kept["robots"]) == 10
    assert set().union(*kept["robots"].values()) >= stated
