"""Printing of statements: one letter per paper symbol, as text or LaTeX."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from unicodedata import normalize

from phistar.operators.interned import walks
from phistar.operators.nodes import Adjoint, Identity, Inverse, Node, Product, Sum, Symbol
from phistar.operators.own import ROOT, shown_name
from phistar.operators.robot_letters import ROBOT
from phistar.operators.spaces import SCALARS, TORQUES

# name: (text, LaTeX)
GLYPHS = {
    "phi": ("φ", r"\phi"),
    "psi": ("ψ", r"\psi"),
    "E_phi": ("ℰφ", r"\mathcal{E}_\phi"),
    "E_psi": ("ℰψ", r"\mathcal{E}_\psi"),
    "D_root": ("D_root", r"D^{1/2}"),
    "Omega": ("Ω", r"\Omega"),
    "Delta": ("Δ", r"\Delta"),
    "Gamma": ("Γ", r"\Gamma"),
    "phi_tilde": ("φ̃", r"\tilde\phi"),
    "psi_tilde": ("ψ̃", r"\tilde\psi"),
    "E_phi_b": ("ℰφ_b", r"\mathcal{E}_{\phi b}"),
    "phi_b": ("φ_b", r"\phi_b"),
    "phi_b_tilde": ("φ̃_b", r"\tilde\phi_b"),
    "E_s": ("ℰ_s", r"\mathcal{E}_s"),
    "Pi_f": ("Π_f", r"\Pi_f"),
    "Pi_b": ("Π_b", r"\Pi_b"),
    "pi_f": ("π_f", r"\pi_f"),
    "rho": ("ρ", r"\rho"),
    "M_i": ("ℳ_i", r"\mathcal{M}_i"),
    "v_i": ("θ̇_i", r"\dot\theta_i"),
    "qdd_i": ("θ̈_i", r"\ddot\theta_i"),
    "v": ("θ̇", r"\dot\theta"),
    "qdd": ("θ̈", r"\ddot\theta"),
    "a_g": ("a_g", "a_g"),
    "a0": ("a(0)", "a(0)"),
    "b_r": ("b_r", "b_r"),
    "f": ("f(0)", "f(0)"),
    "a_delayed": ("a_d", "a_d"),
    "b_delayed": ("b_d", "b_d"),
    "a0_delayed": ("a_d(0)", "a_d(0)"),
    "f_delayed": ("f_d", "f_d"),
    "v_ref": ("θ̇ᵣ", r"\dot\theta_r"),
    "V_ref": ("Vᵣ", "V_r"),
    "a_ref": ("aᵣ", "a_r"),
    "b_ref": ("bᵣ", r"b_{\mathrm r}"),
    "b_r_ref": ("b_rᵣ", r"b_{r,\mathrm r}"),
    "n_ref": ("nᵣ", "n_r"),
    "C_ref": ("𝒞ᵣ", r"\mathcal{C}_r"),
    "V_tilde": ("Ṽ", r"\tilde V"),
    "V_p_tilde": ("Ṽ_p", r"\tilde V_p"),
    "V_J_tilde": ("Ṽ_J", r"\tilde V_J"),
    "alpha": ("α", r"\alpha"),
    "alpha_p_tilde": ("α̃_p", r"\tilde\alpha_p"),
    "Y_pi": ("Y_π", r"Y_\pi"),
    "F_hat": ("F̂", r"\hat F"),
    "Psi_dot": ("Ψ̇", r"\dot\Psi"),
    "Psi_prime": ("Ψ́", r"\acute\Psi"),
    "Psi_ddot": ("Ψ̈", r"\ddot\Psi"),
    "B_v": ("𝓑", r"\mathcal{B}"),
    "r_v": ("r_v", "r_v"),
    "Y": ("𝒴", r"\mathcal{Y}"),
    "D_dot": ("Ḋ", r"\dot{D}"),
    "G_dot": ("Ġ", r"\dot{G}"),
    "U_task": ("U", "U"),
    "mass": ("ℳ", r"\mathcal{M}"),
    "C": ("𝒞", r"\mathcal{C}"),
    "g": ("𝒢", r"\mathcal{G}"),
    "Jdot_v": ("J̇θ̇", r"\dot J\dot\theta"),
}
_MADE = {
    "frame_turn": ("Θ", r"\Theta"),
    "frame_sweep": ("Σ", r"\Sigma"),
}
"""Letters that differentiation makes; nobody writes them."""


@dataclass(frozen=True)
class Notation:
    star: str
    inverse: str
    minus: str
    identity: str
    column: int  # which entry of GLYPHS

    def glyph(self, node: Symbol) -> str:
        name = shown_name(node.name)
        if ROOT in node.traits:
            name = f"{name}{('½', '^{1/2}')[self.column]}"
        plain = (GLYPHS.get(node.name) or _MADE.get(node.name) or (name, name))[self.column]
        return plain + self.prime(node)

    def prime(self, node: Symbol) -> str:
        """A prime marks a Riccati set that is not the mechanism's own."""
        from phistar.operators.symbols import ARMATURE, MASS

        if any(part.domain == SCALARS for part in node.of):  # made from a vector, not from masses
            return ""
        if any(part.codomain == TORQUES for part in node.of[2:]):  # axes other than H
            return "′" if self.column == 0 else "'"
        if not node.of or (node.of[0] is MASS and (len(node.of) == 1 or node.of[1] is ARMATURE)):
            return ""
        if node.of[0] is MASS and isinstance(node.of[1], Sum) and not node.of[1].terms:
            return ""
        return "′" if self.column == 0 else "'"

    def show(self, node: Node) -> str:
        match node:
            case Identity():
                return self.identity
            case Symbol(name="partial_q" | "partial_v" | "partial_qdd"):
                return self.partial(node)
            case Symbol(name="tilde" | "hat" as name):
                sign = {"tilde": ("~", r"^{\sim}"), "hat": ("^", r"^{\wedge}")}[name][self.column]
                return f"[{self.show(node.of[0])}]{sign}"
            case Symbol(name="rate"):
                return self.rate(node)
            case Symbol(name="H_rate"):
                return self.change("H", node.of[0], True) + self.star
            case Adjoint(of=Symbol(name="H_rate") as inner):
                return self.change("H", inner.of[0], True)
            case Symbol(name="axial" | "axes_axial" | "log_det_gradient" | "gradient"):
                return self.gradient(node)
            case Symbol(name="together"):
                return f"[{self.show(node.of[0])}]"
            case Symbol(name=name, traits=traits) if ROBOT in traits:
                return f"{self.group(node.of[0])}" + (f"₍{name}₎" if self.column == 0 else rf"_{{\mathrm{{{name}}}}}")
            case Symbol():
                return self.glyph(node)
            case Adjoint(of=inner):
                return self.power(self.group(inner), self.star)
            case Inverse(of=inner):
                return self.power(self.group(inner), self.inverse)
            case Product(factors=factors):
                return self.juxtapose([self.group(f) for f in factors])
            case Sum():
                return self.tilde(node) or self.add(node)
        raise AssertionError(type(node))

    def partial(self, node: Symbol) -> str:
        """∂x/∂θ."""
        by = {"partial_q": ("θ", r"\theta"), "partial_v": GLYPHS["v"], "partial_qdd": GLYPHS["qdd"]}[node.name]
        inner = self.show(node.of[0])
        return f"∂({inner})/∂{by[0]}" if self.column == 0 else rf"\frac{{\partial({inner})}}{{\partial {by[1]}}}"

    def gradient(self, node: Symbol) -> str:
        """Gradients and axial vectors: vex(X), ∂log det X/∂θ."""
        inner = self.show(node.of[0])
        if node.name == "log_det_gradient":
            parts = f"∂log det({inner})/∂θ", rf"\frac{{\partial\log\det({inner})}}{{\partial\theta}}"
        elif node.name == "gradient":
            parts = f"∂({inner})/∂θ", rf"\frac{{\partial({inner})}}{{\partial\theta}}"
        else:
            sign = "" if node.name == "axial" else "H"
            parts = f"vex{sign and '_' + sign}({inner})", rf"\mathrm{{vex}}_{{{sign}}}({inner})"
        return parts[self.column]

    def rate(self, node: Symbol) -> str:
        """Ẋ along θ̇, ∂[w]X along another direction."""
        inner = node.of[0]
        shown = self.group(inner) if not isinstance(inner, Symbol) else self.show(inner)
        if not isinstance(node.of[1], Symbol):  # the place is held
            direction = self.show(node.of[2])
            return f"∂θ̇[{direction}]{shown}" if self.column == 0 else rf"\partial_{{\dot\theta,{direction}}}{shown}"
        return self.change(shown, node.of[1], isinstance(inner, Symbol) and inner.name != "rate")

    def change(self, shown: str, along: Node, plain: bool) -> str:
        assert isinstance(along, Symbol)
        if along.name == "v":
            if plain:
                return normalize("NFC", f"{shown[0]}̇{shown[1:]}") if self.column == 0 else rf"\dot{{{shown}}}"
            return f"d{shown}/dt" if self.column == 0 else rf"\frac{{d}}{{dt}}{shown}"
        direction = self.glyph(along)
        return f"∂[{direction}]{shown}" if self.column == 0 else rf"\partial_{{{direction}}}{shown}"

    def power(self, base: str, power: str) -> str:
        """TeX wants braces around what already has a superscript."""
        return (f"{{{base}}}" if self.column == 1 and re.search(r"\^\{[^}]*\}$", base) else base) + power

    def group(self, node: Node) -> str:
        shown = self.show(node)
        plain = isinstance(node, Symbol | Identity | Adjoint | Inverse)
        return shown if plain or (isinstance(node, Sum) and self.tilde(node)) else f"({shown})"

    def juxtapose(self, parts: list[str]) -> str:
        """HφMφ*H*, with a blank only where letters would run together."""
        result = parts[0]
        for part in parts[1:]:
            needs_blank = self.column == 1 or part[:2] in ("a_", "θ̇", "θ̈") or result[-2:] == "_g"
            result += (" " if needs_blank else "") + part
        return result

    def tilde(self, node: Sum) -> str:
        """φ̃ for φ − I and ψ̃ for ψ − I (KJR92 eq. 55)."""
        if len(node.terms) == 2:
            (c, x), (d, one) = node.terms
            if c == 1 and d == -1 and isinstance(one, Identity):
                inner = x.of if isinstance(x, Adjoint) else x
                if isinstance(inner, Symbol) and inner.name in ("phi", "psi", "phi_b"):
                    glyph = GLYPHS[inner.name + "_tilde"][self.column] + self.prime(inner)
                    return glyph + (self.star if isinstance(x, Adjoint) else "")
        return ""

    def add(self, node: Sum) -> str:
        if not node.terms:
            return "0"
        shown = ""
        lead = next((i for i, (c, _) in enumerate(node.terms) if c > 0), 0)  # a − b rather than −b + a
        for c, term in (node.terms[lead], *node.terms[:lead], *node.terms[lead + 1 :]):
            sign = self.minus if c < 0 else "+"
            body = self.coefficient(abs(c), term)
            shown += f" {sign} {body}" if shown else (f"{self.minus}{body}" if c < 0 else body)
        return shown

    def coefficient(self, c: Fraction, term: Node) -> str:
        if c == 1:
            return self.show(term) if not isinstance(term, Sum) else self.group(term)
        return f"{c}·{self.group(term)}" if self.column == 0 else f"{_latex_number(c)}\\,{self.group(term)}"


def _latex_number(c: Fraction) -> str:
    return str(c.numerator) if c.denominator == 1 else rf"\tfrac{{{c.numerator}}}{{{c.denominator}}}"


TEXT = Notation("*", "⁻¹", "−", "I", 0)
LATEX = Notation("^{*}", "^{-1}", "-", "I", 1)


@walks
def text(node: Node) -> str:
    return TEXT.show(node)


@walks
def latex(node: Node) -> str:
    return LATEX.show(node)
