"""The upper triangle of a symmetric result from its lower one, in the rows of each state: squares are turned."""

from __future__ import annotations

from phistar.backends.code.transpose import transposed

SIDE = 4  # of a square


def mirror_text(name: str, size: int, lanes: int) -> str:
    """`void name(states, to, down)`: of each state the matrix of so many rows, `down` bytes from each other, that
    begins `to` bytes from where %states says; what is right of its diagonal is made what is below."""
    squares = size // SIDE
    lines = [f"define internal void @{name}(ptr %states, i64 %to, i64 %down) #0 {{", "entry:"]
    lines += [f"  %far = mul i64 %down, {SIDE}", "  br label %state", "state:"]
    lines += ["  %n = phi i64 [0, %entry], [%n2, %ended]", "  %n8 = mul i64 %n, 8", _at("states", "%n8", "p")]
    lines += ["  %row = load ptr, ptr %p, align 8", _at("row", "%to", "m")]
    lines += [f"  br label %{'band' if squares else 'rest'}", *(_bands(squares) if squares else ["rest:"])]
    for k in range(SIDE * squares, size):
        for j in range(k):
            lines += _number(k, j)
    lines += ["  br label %ended", "ended:", "  %n2 = add i64 %n, 1", f"  %more = icmp slt i64 %n2, {lanes}"]
    return "\n".join([*lines, "  br i1 %more, label %state, label %done", "done:", "  ret void", "}"])


def _bands(squares: int) -> list[str]:
    """Bands of rows, in each the squares left of the diagonal, then the one on it."""
    lines = ["band:", "  %b = phi i64 [0, %state], [%b2, %own]", "  %bd = mul i64 %b, %far", _at("m", "%bd", "left")]
    lines += [f"  %b8 = mul i64 %b, {8 * SIDE}", _at("m", "%b8", "over"), "  %any = icmp sgt i64 %b, 0"]
    lines += ["  br i1 %any, label %square, label %own", "square:", "  %c = phi i64 [0, %band], [%c2, %square]"]
    lines += [f"  %c8 = mul i64 %c, {8 * SIDE}", _at("left", "%c8", "from"), "  %cd = mul i64 %c, %far"]
    lines += [_at("over", "%cd", "onto"), *_square("from", "onto", "s"), "  %c2 = add i64 %c, 1"]
    lines += ["  %again = icmp slt i64 %c2, %b", "  br i1 %again, label %square, label %own", "own:"]
    lines += [_at("left", "%b8", "place"), *_square("place", "place", "d", own=True), "  %b2 = add i64 %b, 1"]
    return [*lines, f"  %next = icmp slt i64 %b2, {squares}", "  br i1 %next, label %band, label %rest", "rest:"]


def _square(source: str, target: str, name: str, own: bool = False) -> list[str]:
    """A square turned from one place to another; its `own` on the diagonal keeps what is below."""
    vector, lines = f"<{SIDE} x double>", []
    for side, start in (("g", source), ("h", target)):
        for i in range(SIDE):
            lines.append(_at(f"{name}{side}{i - 1}" if i else start, "%down" if i else "0", f"{name}{side}{i}"))
    lines += [f"  %{name}a{i} = load {vector}, ptr %{name}g{i}, align 8" for i in range(SIDE)]
    made, shuffles = transposed([f"%{name}a{i}" for i in range(SIDE)], vector, name)
    lines += shuffles
    for i, value in enumerate(made):
        if own:
            chosen = ", ".join(f"i32 {j if j <= i else SIDE + j}" for j in range(SIDE))
            lines.append(f"  %{name}o{i} = shufflevector {vector} %{name}a{i}, {vector} {value}, <4 x i32> <{chosen}>")
            value = f"%{name}o{i}"
        lines.append(f"  store {vector} {value}, ptr %{name}h{i}, align 8")
    return lines


def _number(k: int, j: int) -> list[str]:
    """One number right of the diagonal."""
    name, lines = f"k{k}x{j}", []
    for place, row, column in (("from", k, j), ("onto", j, k)):
        lines += [f"  %{name}{place}.d = mul i64 %down, {row}", _at("m", f"%{name}{place}.d", f"{name}{place}.r")]
        lines.append(_at(f"{name}{place}.r", str(8 * column), f"{name}{place}"))
    return [
        *lines,
        f"  %{name} = load double, ptr %{name}from, align 8",
        f"  store double %{name}, ptr %{name}onto, align 8",
    ]


def _at(start: str, offset: str, name: str) -> str:
    return f"  %{name} = getelementptr i8, ptr %{start}, i64 {offset}"
