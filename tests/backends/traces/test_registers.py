"""What waits in memory: every operand is where it is read from, and registers never hold more than they can."""

import random

import pytest

from phistar.backends.traces.registers import residence


def instructions(count, seed, inputs=6):
    """Random operands: mostly recent values, now and then old ones; the first values are inputs."""
    source = random.Random(seed)
    needs = dict.fromkeys(range(inputs), ())
    for index in range(inputs, inputs + count):
        recent = [source.randrange(max(0, index - 8), index) for _ in range(2)]
        needs[index] = tuple(dict.fromkeys([*recent, source.randrange(index)]))
    return needs, list(range(inputs, inputs + count))


@pytest.mark.parametrize("registers", [3, 6, 13, 100])
@pytest.mark.parametrize("parts", [1, 4])
def test_a_machine_with_these_registers_finds_every_operand(registers, parts):
    needs, sequence = instructions(300, seed=registers + parts)
    cut = [sequence[300 * k // parts : 300 * (k + 1) // parts] for k in range(parts)]
    plan = residence(cut, needs.__getitem__, lambda index: index < 6, registers)
    memory: dict[int, int] = {}
    for part in cut:
        held: set[int] = set()
        for place, index in enumerate(part):
            for value in plan.reads[index]:
                assert value < 6 or memory[plan.slots[value]] == value
            held |= {*plan.reads[index], index}
            assert set(needs[index]) <= held
            if index in plan.slots:
                memory[plan.slots[index]] = index
            following = {value: other for other in reversed(part[place + 1 :]) for value in needs[other]}
            held = {x for x in held if x in following and x not in plan.reads[following[x]]}
            assert len(held) <= registers
    assert plan.slot_count == len(set(plan.slots.values())) <= len(plan.slots)


def test_with_registers_for_all_nothing_is_written():
    needs, sequence = instructions(50, seed=0)
    plan = residence([sequence], needs.__getitem__, lambda index: index < 6, 100)
    assert plan.slots == {} and all(value < 6 for read in plan.reads.values() for value in read)


def test_registers_keep_what_is_needed_soonest():
    """Three values, room for two: the one whose use is last waits in memory."""
    needs = {0: (), 1: (), 2: (), 3: (2,), 4: (1,), 5: (0,), 6: (3, 4), 7: (6, 5)}
    plan = residence([list(needs)], needs.__getitem__, lambda index: False, 2)
    assert 0 in plan.slots and 1 not in plan.slots and 2 not in plan.slots


def test_slots_are_used_again():
    needs, sequence = instructions(400, seed=5)
    plan = residence([sequence], needs.__getitem__, lambda index: index < 6, 4)
    assert plan.slot_count < len(plan.slots)


def test_registers_are_taken_from_what_is_in_memory_first():
    """Of two values that are needed at nearly the same time the one that can be read again leaves."""
    needs = {0: (), 1: (), 2: (0, 1), 3: (2,), 4: (3, 0), 5: (4, 1)}
    plan = residence([[1, 2, 3, 4, 5]], needs.__getitem__, lambda index: index == 0, 2)
    assert plan.slots == {} and 0 in plan.reads[4]


@pytest.mark.parametrize("parts", [1, 3])
def test_what_is_made_again_finds_its_operands_in_memory(parts):
    """Made where it is read, once, of inputs or of what was written and is still there."""
    needs, sequence = instructions(400, seed=11)
    cut = [sequence[400 * k // parts : 400 * (k + 1) // parts] for k in range(parts)]
    plain = residence(cut, needs.__getitem__, lambda index: index < 6, 5)
    plan = residence(cut, needs.__getitem__, lambda index: index < 6, 5, is_cheap=lambda index: index % 2 == 0)
    assert plan.remade and plan.reads == plain.reads
    assert set(plan.slots) == set(plain.slots) - plan.remade and all(index % 2 == 0 for index in plan.remade)
    memory: dict[int, int] = {}
    made = []
    for index in (index for part in cut for index in part):
        for value in plan.reads[index]:
            again = value in plan.remade
            made += [value] if again else []
            for x in needs[value] if again else (value,):
                assert x < 6 or memory[plan.slots[x]] == x
                assert x in plan.touched[index]
        if index in plan.slots:
            memory[plan.slots[index]] = index
    assert sorted(made) == sorted(plan.remade)
