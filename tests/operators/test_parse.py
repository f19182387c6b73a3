"""A statement typed as text means what the same characters mean in Python; a refusal marks the part it is about."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistar.errors import PhistarError, SpaceError, StatementError, UnknownNameError
from phistar.operators.nodes import Inverse, inverse
from phistar.operators.parse import parse
from phistar.operators.show import GLYPHS
from phistar.operators.symbols import NAMES, Symbols
from phistar.operators.tokens import DEEPEST, LONGEST

S = Symbols()
MEANINGS = {name: getattr(S, name) for name in NAMES}


def marked(error):
    """The part of the statement that stands above the carets, column by column of a terminal."""
    _, statement, carets = str(error).rsplit("\n", 2)
    columns = []
    for character in statement:
        if unicodedata.combining(character):
            columns[-1] += character
        else:
            columns += [character, *([""] if unicodedata.east_asian_width(character) in "WF" else [])]
    return "".join(columns[i] for i, mark in enumerate(carets) if mark == "^")


@pytest.mark.parametrize("name", [name for name in NAMES if name != "I"])
def test_every_symbol_is_read_by_its_name(name):
    assert parse(name, MEANINGS) is MEANINGS[name]


@pytest.mark.parametrize(
    "text",
    [
        "J @ mass.inv @ J.T",
        "H @ phi @ M @ phi.T @ H.T + A",
        "(I - H @ psi @ K) @ H @ phi",
        "mass.inv @ (T - C - g)",
        "-M + 2 * P - M @ Omega @ M",
        "-(phi + psi).T.inv",
        "- -M",
        "phi @ (psi + phi)",
        "phi @ psi + phi",
        "(phi.inv).T",
        "phi + I",
        "3 * -phi @ psi",
        "+M - -P",
    ],
)
def test_a_statement_means_what_it_means_in_python(text):
    in_python = text.replace("+M", "M").replace("- -M", "M")  # nodes have no unary plus
    assert parse(text, MEANINGS) is eval(in_python, {}, MEANINGS)


def test_inv_is_written_as_a_function_or_as_an_attribute():
    assert parse("inv(mass @ inv(mass))", MEANINGS) is parse("(mass @ mass.inv).inv", MEANINGS)


@pytest.mark.parametrize("name", [name for name, (glyph, _) in GLYPHS.items() if not glyph.isascii()])
def test_a_symbol_is_read_as_it_is_printed(name):
    glyph = GLYPHS[name][0]
    assert parse(glyph, MEANINGS) is MEANINGS[name]
    assert parse(unicodedata.normalize("NFD", glyph), MEANINGS) is MEANINGS[name]


def test_script_letters_are_not_taken_for_plain_ones():
    """Python itself reads ℳ as M and 𝒢 as G."""
    assert parse("ℳ", MEANINGS) is S.mass is not S.M
    assert parse("𝒢", MEANINGS) is S.g is not S.G
    with pytest.raises(UnknownNameError, match="did you mean M"):
        parse("𝐌", MEANINGS)


def test_greek_letters_have_one_meaning_however_they_are_encoded():
    assert parse("ϕ @ φ", MEANINGS) is S.phi @ S.phi
    assert parse("\N{OHM SIGN}", MEANINGS) is parse("\N{GREEK CAPITAL LETTER OMEGA}", MEANINGS) is S.Omega


def test_blanks_lines_and_printed_minus_signs_do_not_matter():
    assert parse("  M\n@\tOmega − I ", MEANINGS) is S.M @ S.Omega - S.I


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("2 * M", "M + M"),
        ("1/2 * M", "M / 2"),
        ("M * 0.1", "1/10 * M"),
        ("-(2 - 1/3) * M", "-5/3 * M"),
        ("1e3 * M", "1000 * M"),
        (".5 * M", "5. * M / 10"),
        ("0 * M", "M - M"),
    ],
)
def test_numbers_are_exact_fractions(text, same):
    assert parse(text, MEANINGS) is parse(same, MEANINGS)


SYNTAX = [
    ("J @@ mass", "@", "operand is expected after @"),
    ("J mass", "J mass", "Nothing stands between J and mass"),
    ("(M) (P)", ") (", "written with @"),
    ("2 M", "2 M", "written with *"),
    ("inv M", "inv M", "inv(X)"),
    ("J* @ mass", "*", "adjoint is written X.T"),
    ("J @ mass*", "*", "adjoint is written X.T"),
    ("M @", "@", "the statement ends"),
    ("@ M", "@", "at the beginning"),
    ("M + )", ")", "not )"),
    ("inv()", ")", "not )"),
    ("((M)", "(", "never closed"),
    ("(M))", ")", "closes nothing"),
    ("M^-1", "^", "inv(X)"),
    ("θ̇ + ℳ⁻¹", "⁻", "inv(X)"),
    ("J'", "'", "X.T"),
    ("H²", "²", "means nothing"),
    ("M = P", "=", "without ="),
    ("M # P", "#", "means nothing"),
    ("[M]", "[", "means nothing"),
    ("M\x00", "�", "means nothing"),
    ("M if P else D", "if", "word of Python"),
    ("None", "None", "word of Python"),
    ("2M", "2M", "not a number"),
    ("1e400 * M", "1e400", "not a number"),
    ("007 * M", "007", "not a number"),
    ("M.if", "M.if", "cannot be read"),
]


@pytest.mark.parametrize(("text", "part", "words"), SYNTAX, ids=[text for text, _, _ in SYNTAX])
def test_a_syntax_error_is_a_sentence_with_its_place_marked(text, part, words):
    with pytest.raises(StatementError) as refused:
        parse(text, MEANINGS)
    assert marked(refused.value) == part
    assert words in str(refused.value)


MEANINGLESS = [
    ("1 + M", "1", "only multiplies"),
    ("M @ 2", "2", "only multiplies"),
    ("3", "3", "only multiplies"),
    ("inv(2)", "2", "only multiplies"),
    ("M * P", "M * P", "composed with @"),
    ("M ** 2", "M ** 2", "no powers"),
    ("M // 2", "M // 2", "no powers"),
    ("P + M / 0", "M / 0", "divides by zero"),
    ("2 / M", "M", "inv(X)"),
    ("phi @ M.t", ".t", "adjoint .T"),
    ("phi @ sin(M)", "sin", "not a function"),
    ("J.T(M)", "J.T", "not a function"),
    ("1e13 * M", "1e13", "up to 1e+12"),
    ("1e9 * 1e9 * M", "1e9 * 1e9", "up to 1e+12"),
    ("2 * I - I", "2 * I - I", "which space"),
]


@pytest.mark.parametrize(("text", "part", "words"), MEANINGLESS, ids=[text for text, _, _ in MEANINGLESS])
def test_what_means_nothing_is_refused_where_it_stands(text, part, words):
    with pytest.raises(StatementError) as refused:
        parse(text, MEANINGS)
    assert marked(refused.value) == part
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("text", "part", "words"),
    [
        ("J @ mass @ J", "J @ mass", "ℳ gives Torques, but J takes Rates"),
        ("H @ phi @ M @ phi @ H.T", "M @ phi", "Did you mean"),
        ("φ @ ψ @ θ̇ @ θ̈", "ψ @ θ̇", "θ̇ gives Rates, but ψ takes Forces"),
        ("(M @ phi.T) @ (M @ phi.T)", "phi.T) @ (M", "M gives Forces"),
        ("phi + psi + H", "psi + H", "H maps Forces to Torques"),
        ("M - (H + I)", "H + I", "a space to itself"),
        ("mass - J @ J.T", "J @ J.T", "do not compose"),
        ("P + 2 * mass", "P + 2 * mass", "Rates to Torques"),
    ],
)
def test_operators_between_other_spaces_are_marked_where_they_meet(text, part, words):
    with pytest.raises(SpaceError) as refused:
        parse(text, MEANINGS)
    assert marked(refused.value) == part
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("text", "part", "words"),
    [
        ("H @ inv(J)", "J", "different size"),
        ("phi + (H.T @ H.inv)", "H", "different size"),
        ("inv(M - M)", "M - M", "zero operator"),
    ],
)
def test_an_inverse_that_cannot_be_marks_its_operand(text, part, words):
    with pytest.raises(StatementError) as refused:
        parse(text, MEANINGS)
    assert marked(refused.value) == part
    assert words in str(refused.value)


def test_every_inverse_is_shown_to_the_check_and_its_refusal_marked():
    seen = []

    def check(node):
        assert isinstance(node, Inverse)
        seen.append(node)
        if node is inverse(S.psi):
            raise StatementError("Not this one.")

    parse("inv(phi) + (M @ Omega).inv", MEANINGS, check)
    assert seen == [S.phi.inv, (S.M @ S.Omega).inv]
    with pytest.raises(StatementError, match="Not this one") as refused:
        parse("inv(phi) @ inv( psi )", MEANINGS, check)
    assert marked(refused.value) == "psi"


@pytest.mark.parametrize(
    ("text", "part", "words"),
    [
        ("M @ phii", "phii", "did you mean phi "),
        ("Mass", "Mass", "did you mean mass?"),
        ("omega.T", "omega", "did you mean Omega"),
        ("J @ mass_matrix", "mass_matrix", "did you mean mass"),
        ("M @ xyzzy", "xyzzy", "there are H, phi, psi, M"),
        ("Jᵀ @ M", "Jᵀ", "adjoint is written X.T"),
        ("inv + M", "inv", "inv(X)"),
        ("__import__", "__import__", "no symbol"),
    ],
)
def test_an_unknown_symbol_is_marked_and_near_names_suggested(text, part, words):
    with pytest.raises(UnknownNameError) as refused:
        parse(text, MEANINGS)
    assert marked(refused.value) == part
    assert words in str(refused.value)


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_an_empty_statement_is_answered_with_an_example(text):
    with pytest.raises(StatementError, match=r"empty.*J @ inv\(mass\) @ J\.T"):
        parse(text, MEANINGS)


def test_a_statement_may_be_as_long_and_deep_as_the_limits_and_no_more():
    assert parse("(M)".center(LONGEST + 100), MEANINGS) is S.M
    assert parse("1 * " * (DEEPEST - 2) + "M", MEANINGS) is S.M
    assert parse(" @ ".join(["phi"] * (DEEPEST - 1)), MEANINGS).domain == S.phi.domain
    with pytest.raises(StatementError, match=rf"more than {LONGEST}"):
        parse("M" * (LONGEST + 1), MEANINGS)


@pytest.mark.parametrize(
    "text",
    [
        " @ ".join(["phi"] * (DEEPEST + 1)),
        "-" * 1900 + "M",
        "M" + ".T" * 900,
        "(" * 900 + "M" + ")" * 900,
        "(" * 1900,
        "inv(" * 300 + "M" + ")" * 300,
    ],
    ids=lambda text: text[:12],
)
def test_a_statement_nested_too_deep_is_one_sentence(text):
    with pytest.raises(StatementError, match=f"nested more than {DEEPEST}") as refused:
        parse(text, MEANINGS)
    assert "\n" not in str(refused.value)


@st.composite
def statements(draw, depth=4):
    """A statement as text, and the node that the operators of Python build."""
    kind = draw(st.sampled_from(["symbol", "product", "sum", "scaled", "adjoint", "inverse"])) if depth else "symbol"
    if kind == "symbol":
        name = draw(st.sampled_from(NAMES))
        return name, MEANINGS[name]
    text, node = draw(statements(depth - 1))
    try:
        if kind == "adjoint":
            return f"({text}).T", node.T
        if kind == "inverse":
            return draw(st.sampled_from([f"inv({text})", f"({text}).inv"])), node.inv
        if kind == "scaled":
            number = draw(st.integers(-3, 3))
            return f"{number} * ({text})", number * node
        other_text, other = draw(statements(depth - 1))
        if kind == "product":
            return f"({text}) @ ({other_text})", node @ other
        return f"({text}) - ({other_text})", node - other
    except PhistarError:
        return text, node


@given(statements())
def test_reading_undoes_writing(statement):
    text, node = statement
    if node.domain is None:
        with pytest.raises(StatementError, match="which space"):
            parse(text, MEANINGS)
    else:
        assert parse(text, MEANINGS) is node


TOKENS = [
    *("J", "mass", "M", "phi", "H", "I", "T", "v", "ℳ", "θ̇", "inv", "inv(", "(", ")", "@", "+", "-", "*", "/", "**"),
    *(".T", ".inv", ".", "2", "1/2", "1e5", "0", "0.5", "if", "not", "lambda", "None", ",", "=", "^", "'", '"', "#"),
    *("\\", ":", "[", "]", "{", "}", "!", "é", "²", "٣", "⁻¹", "\n", "\x00", "\ud800", "\u0303"),
    *("_", "__class__", "f'"),
]


@given(st.lists(st.sampled_from(TOKENS), max_size=12), st.sampled_from(["", " "]))
def test_any_string_of_tokens_is_read_or_refused_with_a_sentence(tokens, space):
    refused_or_read(space.join(tokens))


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused_with_a_sentence(text):
    refused_or_read(text)


def refused_or_read(text):
    try:
        parse(text, MEANINGS)
    except PhistarError as refused:
        first, *rest = str(refused).split("\n")
        assert first.endswith((".", "?")) and len(rest) in (0, 2)
        assert not rest or set(rest[1]) == {" ", "^"}
