"""What was made lately."""

from phistar.backends.machine.recent import Recent


def test_a_thing_is_made_once_and_the_one_asked_for_least_lately_goes():
    made, recent = [], Recent(2)

    def get(key):
        return recent.get(key, lambda: made.append(key) or key.upper())

    assert [get(key) for key in "abab"] == list("ABAB") and made == ["a", "b"]
    get("a")
    get("c")  # b goes
    assert len(recent) == 2
    assert get("a") == "A" and made == ["a", "b", "c"]
    assert get("b") == "B" and made == ["a", "b", "c", "b"]
