"""The papers' numbered equations between operators, typed as they are printed, links and joints stacked, misprints
corrected; `NOT_OPERATORS` says of every other number why it is none."""

# RJK91 and KJR92
FACTOR, WHITE = "(I + H @ phi @ K)", "(I - H @ psi @ K)"
GRAM = "psi.T @ H.T @ inv(D) @ H @ psi"
OMEGA0 = "J @ inv(mass) @ J.T"
C0 = "(J @ inv(mass) @ C - Jdot_v)"
ARTICULATED = "B.T @ psi.T @ (H.T @ inv(D) @ H @ psi @ (P @ a + b) - a) - a0"

RATES = {"V0_dot": lambda a: (a.J @ a.v).rate(), "J_dot": lambda a: a.J.rate()}
"""Rates that equations speak of: V̇(0) of V(0) = Jθ̇, and J̇."""

RJK91 = {
    "RJK91 (1)": ("J", "B.T @ phi.T @ H.T"),
    "RJK91 (3)": ("mass", "H @ phi @ M @ phi.T @ H.T"),
    "RJK91 (4)": ("C", "H @ phi @ (M @ phi.T @ a + b)"),
    "RJK91 (5)": ("J.T", "H @ phi @ B"),
    "RJK91 (2)": ("mass @ inv(mass) @ (T - C - J.T @ f) + C + J.T @ f", "T"),
    "RJK91 (6), (7)": ("mass @ qdd", "H @ phi @ M @ phi.T @ H.T @ qdd"),
    "RJK91 §4, D": ("D", "H @ P @ H.T"),
    "RJK91 §4, G": ("G", "P @ H.T @ inv(D)"),
    "RJK91 §4, K": ("K", "E_phi @ G"),
    "RJK91 (8)": ("P", "E_psi @ P @ E_psi.T + M"),
    "RJK91 (9)": ("inv(I - E_phi @ (I - G @ H))", "psi"),
    "RJK91 (10), first": ("E_psi", "E_phi @ (I - G @ H)"),
    "RJK91 (10), second": ("E_psi", "E_phi - K @ H"),
    "RJK91 (11), lemma 1": ("mass", f"{FACTOR} @ D @ {FACTOR}.T"),
    "RJK91 (12), lemma 2": (f"inv{FACTOR}", WHITE),
    "RJK91 (13), lemma 3": ("inv(mass)", f"{WHITE}.T @ inv(D) @ {WHITE}"),
    "RJK91 (14), (15)": (
        "inv(mass) @ (T - C - J.T @ f)",
        f"{WHITE}.T @ inv(D) @ {WHITE} @ (T - H @ phi @ (M @ phi.T @ a + b + B @ f))",
    ),
    "RJK91 (16), lemma 4": (f"{WHITE} @ H @ phi", "H @ psi"),
    "RJK91 (17)": ("-inv(mass) @ J.T @ f", f"-{WHITE}.T @ inv(D) @ {WHITE} @ H @ phi @ B @ f"),
    "RJK91 (18)": ("-inv(mass) @ J.T @ f", f"-{WHITE}.T @ inv(D) @ H @ psi @ B @ f"),
    "RJK91 (19)": (OMEGA0, f"B.T @ phi.T @ H.T @ {WHITE}.T @ inv(D) @ {WHITE} @ H @ phi @ B"),
    "RJK91 (20)": (OMEGA0, f"B.T @ {GRAM} @ B"),
    "RJK91 (24)": ("inv(mass) @ (T - C)", f"{WHITE}.T @ inv(D) @ {WHITE} @ (T - C)"),
    "RJK91 (25)": ("V0_dot", "J @ qdd + J_dot @ v"),
    "RJK91 §5.3, after (25)": (
        "J @ (inv(mass) @ (T - C) + inv(mass) @ J.T @ f) + J_dot @ v",
        "J @ inv(mass) @ (T - C) + J_dot @ v + inv(inv(J @ inv(mass) @ J.T)) @ f",
    ),
    "RJK91 lemma 5": ("inv(psi)", "inv(phi) + K @ H"),
    "RJK91 appendix, M": ("M", "P - E_psi @ P @ E_psi.T"),
    "RJK91 appendix, lemma 1": ("M", "P - E_phi @ P @ E_phi.T + K @ D @ K.T"),
    "RJK91 appendix, lemma 1, φMφ*": (
        "phi @ M @ phi.T",
        "P + phi_tilde @ P + P @ phi_tilde.T + phi @ K @ D @ K.T @ phi.T",
    ),
    "RJK91 appendix, lemma 2": (f"inv{FACTOR}", "I - H @ phi @ inv(I + K @ H @ phi) @ K"),
    "RJK91 appendix, lemma 2, end": (f"inv{FACTOR}", "I - H @ phi @ inv(inv(psi) @ phi) @ K"),
    "RJK91 appendix, lemma 4": ("I - psi @ K @ H", "psi @ inv(phi)"),
}

CONTROL = f"J.T @ inv({OMEGA0}) @ (u + J @ inv(mass) @ (C + g) - Jdot_v)"
KJR92 = {
    "KJR92 (2), (13)": (
        f"inv({OMEGA0}) @ (J @ qdd + Jdot_v) + inv({OMEGA0}) @ {C0} + inv({OMEGA0}) @ J @ inv(mass) @ g",
        f"inv({OMEGA0}) @ J @ inv(mass) @ (mass @ qdd + C + g)",
    ),
    "KJR92 (3), (4), (5)": (f"J @ inv(mass) @ ({CONTROL} - C - g) + Jdot_v", "u"),
    "KJR92 (6), (8), (10)": (
        "J @ qdd + Jdot_v + J @ inv(mass) @ (C + g) - Jdot_v",
        "J @ inv(mass) @ (mass @ qdd + C + g)",
    ),
    "KJR92 (11), (12)": (f"inv({OMEGA0}) @ J @ inv(mass) @ J.T @ f", "f"),
    "KJR92 (14), (15)": (
        f"inv({OMEGA0}) @ (J @ inv(mass) @ (C + g) - Jdot_v)",
        f"inv({OMEGA0}) @ {C0} + inv({OMEGA0}) @ J @ inv(mass) @ g",
    ),
    "KJR92 (16)": (
        f"J.T @ inv({OMEGA0}) @ (u + J @ inv(mass) @ (C + g) - Jdot_v)",
        f"J.T @ inv({OMEGA0}) @ (u + {C0} + J @ inv(mass) @ g)",
    ),
    "KJR92 (33), (35)": ("psi", "I + E_phi @ (I - G @ H) @ psi"),
    "KJR92 (37)": ("P", "E_phi @ (I - G @ H) @ P @ (E_phi @ (I - G @ H)).T + M"),
    "KJR92 (23)": ("phi", "inv(I - E_phi)"),
    "KJR92 (24)": ("P", "E_psi @ P @ E_psi.T + M"),
    "KJR92 (25)": ("D", "H @ P @ H.T"),
    "KJR92 (26)": ("G", "P @ H.T @ inv(D)"),
    "KJR92 (27)": ("K", "E_phi @ G"),
    "KJR92 (28)": ("E_psi", "E_phi @ (I - G @ H)"),
    "KJR92 (29)": ("psi", "inv(I - E_psi)"),
    "KJR92 (34)": ("W", "E @ (I - G @ H)"),
    "KJR92 (38)": ("J.T", "H @ phi @ B"),
    "KJR92 (40)": ("J @ v", "B.T @ phi.T @ H.T @ v"),
    "KJR92 (41)": ("V", "phi.T @ H.T @ v"),
    "KJR92 (42)": ("mass", "H @ phi @ M @ phi.T @ H.T"),
    "KJR92 (43)": ("C", "H @ phi @ (M @ phi.T @ a + b)"),
    "KJR92 (44)": ("g", "H @ phi @ M @ phi.T @ E.T @ a_g"),
    "KJR92 (45)": ("C + g", "H @ phi @ (M @ phi.T @ (a + E.T @ a_g) + b)"),
    "KJR92 (46)": ("Jdot_v", "B.T @ phi.T @ a + a0"),
    "KJR92 (49)": ("mass", f"{FACTOR} @ D @ {FACTOR}.T"),
    "KJR92 (50)": (f"inv{FACTOR}", WHITE),
    "KJR92 (51)": ("inv(mass)", f"{WHITE}.T @ inv(D) @ {WHITE}"),
    "KJR92 (52), first": ("phi @ K @ H @ psi", "phi - psi"),
    "KJR92 (52), second": ("psi @ K @ H @ phi", "phi - psi"),
    "KJR92 (53)": (f"{WHITE} @ H @ phi", "H @ psi"),
    "KJR92 (54), first": ("psi @ M @ phi.T", "P + psi_tilde @ P + P @ phi_tilde.T"),
    "KJR92 (54), second": ("psi @ M @ phi.T", "psi @ P + P @ phi_tilde.T"),
    "KJR92 (55), first": ("phi_tilde", "phi @ E_phi"),
    "KJR92 (55), second": ("phi_tilde", "E_phi @ phi"),
    "KJR92 (56)": (GRAM, "Omega + psi_tilde.T @ Omega + Omega @ psi_tilde"),
    "KJR92 (57)": ("Omega", "E_psi.T @ Omega @ E_psi + H.T @ inv(D) @ H"),
    "KJR92 (58)": (
        "Omega",
        "(E_phi @ (I - G @ H)).T @ Omega @ E_phi @ (I - G @ H) + H.T @ inv(D) @ H",
    ),
    "KJR92 (59)": ("(I - H.T @ inv(D) @ H @ psi @ P) @ E.T", "W.T"),
    "KJR92 §4.1": (OMEGA0, f"B.T @ {GRAM} @ B"),
    "KJR92 (60)": (OMEGA0, "B.T @ Omega @ B"),
    "KJR92 (61)": (f"inv({OMEGA0})", "inv(B.T @ Omega @ B)"),
    "KJR92 (62)": (
        f"inv({OMEGA0}) @ {C0}",
        f"inv({OMEGA0}) @ (B.T @ {GRAM} @ (M @ phi.T @ a + b) - B.T @ phi.T @ a - a0)",
    ),
    "KJR92 (63), first": (f"{GRAM} @ M @ phi.T", "psi.T @ H.T @ inv(D) @ H @ (psi @ P + P @ phi_tilde.T)"),
    "KJR92 (63), second": (f"{GRAM} @ M @ phi.T", f"{GRAM} @ P + psi.T @ H.T @ G.T @ phi_tilde.T"),
    "KJR92 (63), third": (f"{GRAM} @ M @ phi.T", f"{GRAM} @ P + psi.T @ H.T @ K.T @ phi.T"),
    "KJR92 (63), fourth": (f"{GRAM} @ M @ phi.T", f"{GRAM} @ P + phi.T - psi.T"),
    "KJR92 (64)": (f"inv({OMEGA0}) @ {C0}", f"inv({OMEGA0}) @ ({ARTICULATED})"),
    "KJR92 (65)": (C0, ARTICULATED),
    "KJR92 (66), (67), (68)": (
        C0,
        "B.T @ (psi.T @ (H.T @ inv(D) @ H @ (psi @ (P @ a + b)) - a)) - a0",
    ),
    "KJR92 (69)": (
        f"inv({OMEGA0}) @ J @ inv(mass) @ g",
        f"inv({OMEGA0}) @ B.T @ {GRAM} @ M @ phi.T @ E.T @ a_g",
    ),
    "KJR92 (70)": (
        f"inv({OMEGA0}) @ J @ inv(mass) @ g",
        f"inv({OMEGA0}) @ B.T @ (phi.T - psi.T @ (I - H.T @ inv(D) @ H @ psi @ P)) @ E.T @ a_g",
    ),
    "KJR92 (71)": (
        f"inv({OMEGA0}) @ J @ inv(mass) @ g",
        f"inv({OMEGA0}) @ B.T @ (phi.T @ E.T - psi.T @ W.T) @ a_g",
    ),
    "KJR92 (72)": ("J @ inv(mass) @ g", "B.T @ (phi.T @ E.T - psi.T @ W.T) @ a_g"),
    "KJR92 (73), (74)": (
        "J @ inv(mass) @ g",
        "B.T @ ((I - E_phi).inv.T @ E.T @ a_g - (I - E_psi).inv.T @ W.T @ a_g)",
    ),
    "KJR92 §4.3, c(0) + g(0)": (
        "J @ inv(mass) @ (C + g) - Jdot_v",
        "B.T @ psi.T @ (H.T @ inv(D) @ H @ psi @ (P @ (a + E.T @ a_g) + b) - a - E.T @ a_g) - a0 "
        "+ B.T @ phi.T @ E.T @ a_g",
    ),
}

# R87: x are forces, λ accelerations with bias n (here a), z the filter's states, P⁺ and Δ⁺ what is inboard of a joint.
LAMBDA = "phi.T @ (H.T @ qdd + a)"
X = f"phi @ (M @ {LAMBDA} + b)"
UPDATED = "(P - G @ D @ G.T)"
Z = f"psi @ (K @ T + b + E_phi @ {UPDATED} @ a)"
INNOVATION = f"(T - H @ {Z})"
Z_UPDATED = f"({Z} + G @ {INNOVATION} + {UPDATED} @ a)"
COSTATE = f"psi.T @ (H.T @ inv(D) @ {INNOVATION} + (I - G @ H).T @ a)"
ACCELERATION = f"(inv(D) @ {INNOVATION} - G.T @ (E_phi.T @ {COSTATE} + a))"
OWN = "(inv(D) + G.T @ Delta @ G)"
OTHERS = f"(G.T @ Delta - {OWN} @ H)"
KEPT = "(I - G @ H)"
COMPOSITES = "(r + phi_tilde @ r + r @ phi_tilde.T)"
FILTERED = "(T - H @ psi @ K @ T)"

R87 = {
    "R87 (4), (5), (16), (17)": (X, f"E_phi @ {X} + M @ {LAMBDA} + b"),
    "R87 (11), (12)": ("V", "E_phi.T @ V + H.T @ v"),
    "R87 (13), (14), (18), (19)": (LAMBDA, f"E_phi.T @ {LAMBDA} + H.T @ qdd + a"),
    "R87 (20), (22)": ("mass @ qdd + C", f"H @ {X}"),
    "R87 (23)": ("inv(I - E_phi).T @ (H.T @ qdd + a)", LAMBDA),
    "R87 (24)": (f"inv(I - E_phi) @ (M @ {LAMBDA} + b)", X),
    "R87 (25)": (X, "phi @ M @ phi.T @ (H.T @ qdd + a) + phi @ b"),
    "R87 (26), (27)": (X, f"{COMPOSITES} @ (H.T @ qdd + a) + phi @ b"),
    "R87 (28)": ("phi @ M @ phi.T", COMPOSITES),
    "R87 (29)": ("r", "E_phi @ r @ E_phi.T + M"),
    "R87 (30)": ("mass", f"H @ {COMPOSITES} @ H.T"),
    "R87 (31)": ("C", f"H @ {COMPOSITES} @ a + H @ phi @ b"),
    "R87 (32)": ("mass", "H @ phi @ r @ H.T + (H @ phi_tilde @ r @ H.T).T"),
    "R87 (34)": (
        "phi @ (M @ phi.T @ (H.T @ inv(mass) @ (T - C) + a) + b)",
        f"{Z} + P @ {COSTATE}",
    ),
    "R87 (36)": (Z, f"E_phi @ {Z_UPDATED} + b"),
    "R87 (37)": ("P", f"E_phi @ {UPDATED} @ E_phi.T + M"),
    "R87 (38)": ("D", "H @ P @ H.T"),
    "R87 (39)": ("G", "P @ H.T @ inv(D)"),
    "R87 (40), (42)": (f"inv(D) @ {INNOVATION}", f"inv(D) @ T - inv(D) @ H @ {Z}"),
    "R87 (41)": (Z_UPDATED, f"{KEPT} @ {Z} + G @ T + {UPDATED} @ a"),
    "R87 (43)": (UPDATED, "P - P @ H.T @ inv(D) @ H @ P"),
    "R87 (45), (47)": (COSTATE, f"E_phi.T @ {COSTATE} + a + H.T @ {ACCELERATION}"),
    "R87 (46)": ("inv(mass) @ (T - C)", ACCELERATION),
    "R87 (48)": (COSTATE, f"{KEPT}.T @ (E_phi.T @ {COSTATE} + a) + H.T @ inv(D) @ {INNOVATION}"),
    "R87 (49)": (
        f"{Z} + P @ {COSTATE}",
        f"E_phi @ ({Z_UPDATED} + {UPDATED} @ E_phi.T @ {COSTATE}) + M @ {COSTATE} + b",
    ),
    "R87 (50), first": (UPDATED, f"{KEPT} @ P"),
    "R87 (50), second": (UPDATED, f"P @ {KEPT}.T"),
    "R87 (51)": (UPDATED, f"{KEPT} @ P @ {KEPT}.T"),
    "R87 (57)": ("D", "H @ P @ H.T"),
    "R87 (58)": (UPDATED, f"{KEPT} @ P @ {KEPT}.T"),
    "R87 (61)-(63)": (
        "phi @ (M @ phi.T @ H.T @ inv(mass) @ (T - H @ phi @ b) + b)",
        "psi @ (K @ T + b) + P @ psi.T @ H.T @ inv(D) @ (T - H @ psi @ (K @ T + b))",
    ),
    "R87 (65)": ("P - P @ Omega @ P", f"{UPDATED} - {UPDATED} @ Delta @ {UPDATED}"),
    "R87 (67), (81)": ("Delta", "E_phi.T @ Omega @ E_phi"),
    "R87 (68), (82)": ("Omega", f"{KEPT}.T @ Delta @ {KEPT} + H.T @ inv(D) @ H"),
    "R87 (69), (70), first": (
        "inv(mass) @ T",
        f"({OWN} + {OTHERS} @ psi @ K + ({OTHERS} @ psi @ K).T) @ T",
    ),
    "R87 (70), second": ("-inv(mass) @ H @ phi @ b", f"({OTHERS} @ psi + (psi @ K).T @ Omega) @ b"),
    "R87 (70), third": (
        "-inv(mass) @ H @ phi @ M @ phi.T @ a",
        f"(G.T @ (Delta @ {UPDATED} - I) + {OTHERS} @ psi @ E_phi @ {UPDATED} "
        f"+ (psi @ K).T @ {KEPT}.T @ (Delta @ {UPDATED} - I)) @ a",
    ),
    "R87 (72)": ("psi", f"inv(I - E_phi @ {KEPT})"),
    "R87 (73)": ("psi @ K @ T", f"E_phi @ ({KEPT} @ psi @ K @ T + G @ T)"),
    "R87 (74)": (f"inv(D) @ {FILTERED}", "inv(D) @ (I - H @ psi @ K) @ T"),
    "R87 (75)": ("E_phi.T @ phi.T @ H.T @ inv(mass) @ T", f"E_phi.T @ psi.T @ H.T @ inv(D) @ {FILTERED}"),
    "R87 (76), (77)": (
        "inv(mass) @ T",
        f"inv(D) @ {FILTERED} - G.T @ E_phi.T @ psi.T @ H.T @ inv(D) @ {FILTERED}",
    ),
    "R87 (78), (79)": (
        "E_phi.T @ psi.T @ H.T @ inv(D) @ H @ psi @ K",
        f"Delta @ G + Delta @ {KEPT} @ psi @ K + ({KEPT} @ psi @ E_phi).T @ Delta @ G",
    ),
    "R87 (80)": (
        "E_phi.T @ psi.T @ H.T @ inv(D) @ H @ psi @ E_phi",
        f"Delta + Delta @ {KEPT} @ psi @ E_phi + (Delta @ {KEPT} @ psi @ E_phi).T",
    ),
    "R87 (83)": ("inv(mass)", f"{OWN} + {OTHERS} @ psi @ K + ({OTHERS} @ psi @ K).T"),
}

# RJ2W: φ_f is phi, r_f is r, M_f is M, and its r is rho; R and R̄ are the kernels of a fixed and a free base.
R = "phi @ M @ phi.T"
RIGID = f"{R} @ pi_f.T @ inv(pi_f @ r @ pi_f.T) @ pi_f @ {R}"
R_BAR = f"({R} - {RIGID})"
TWO_WAY = "(rho + C_f @ phi_tilde @ r + C_b @ phi_b_tilde @ r_b)"
BEHIND = "(r_b + Pi_f @ r)"  # r_b, with the whole mass at the base link, where it is zero
WIGGLE = f"inv(pi_f @ r @ pi_f.T) @ pi_f @ {R} @ H.T @ v"

RJ2W = {
    "RJ2W (2), (3), first": ("E_phi @ E_phi_b", "I - Pi_b"),
    "RJ2W (2), second": ("E_phi_b @ E_phi", "I - Pi_f"),
    "RJ2W (4), first": ("phi", "inv(I - E_phi)"),
    "RJ2W (4), second": ("phi_b", "inv(I - E_phi_b)"),
    "RJ2W (6), (7), first": ("E_phi @ phi", "phi - I"),
    "RJ2W (6), (7), second": ("E_phi_b @ phi_b", "phi_b - I"),
    "RJ2W (10)": ("M_b", "E_phi_b @ M @ E_phi_b.T"),
    "RJ2W (11), (12)": ("(I - Pi_b) @ M", "E_phi @ M_b @ E_phi.T"),
    "RJ2W (13), first": ("rho", "r_b @ inv(r + r_b) @ r"),
    "RJ2W (13), (15), second": ("rho", "r @ inv(r + r_b) @ r_b"),
    "RJ2W (14), (15)": ("inv(rho + Pi_f @ r)", f"inv(r) + (I - Pi_f).T @ inv{BEHIND}"),
    "RJ2W (16)": (R_BAR, TWO_WAY),
    "RJ2W (17), C_f": ("C_f", "r_b @ inv(r + r_b)"),
    "RJ2W (17), C_f by r": ("C_f", "rho @ inv(r)"),
    "RJ2W (17), C_b": ("C_b", "r @ inv(r + r_b)"),
    "RJ2W (17), C_b by r": ("C_b @ r_b", "rho"),
    "RJ2W (18), (19)": (
        f"H @ {R_BAR} @ H.T",
        "H @ rho @ H.T + H_f @ phi_tilde @ r @ H.T + H_b @ phi_b_tilde @ r_b @ H.T",
    ),
    "RJ2W Table 2": ("r", "E_phi @ r @ E_phi.T + M"),
    "RJ2W Table 3": (R_BAR, "C_f @ phi @ r + C_b @ phi_b @ E_phi_b @ r_b"),
    "RJ2W (20), (21), (22)": ("V.T @ M @ V", f"v.T @ H @ {R} @ H.T @ v"),
    "RJ2W (23)": (f"pi_f @ {R} @ (H.T @ v - pi_f.T @ {WIGGLE})", f"0 * pi_f @ {R} @ H.T @ v"),
    "RJ2W (24), (25), (26)": ("V.T @ M @ V", f"v.T @ H @ {RIGID} @ H.T @ v + v.T @ H @ {TWO_WAY} @ H.T @ v"),
    "RJ2W (27), (28)": ("M_i", f"N @ H @ {TWO_WAY} @ H.T @ N.T"),
    "RJ2W (29)": (R_BAR, f"rho @ (I + inv(r) @ phi_tilde @ r + inv{BEHIND} @ phi_b_tilde @ r_b)"),
    "RJ2W (30)": (R_BAR, "(r - r @ q @ r) + (I - r @ q) @ phi_tilde @ r + r @ phi_tilde.T @ (I - q @ r)"),
    "RJ2W (31)": ("q", "E_phi.T @ q @ E_phi + pi_f.T @ inv(pi_f @ r @ pi_f.T) @ pi_f"),
    "RJ2W (32)": (R_BAR, "rho + C_f @ phi_tilde @ r + r @ phi_tilde.T @ C_f.T"),
    "RJ2W (33)": ("r @ phi_tilde.T @ C_f.T", "C_b @ phi_b_tilde @ r_b"),
    "RJ2W (34)": ("r_b", "E_phi_b @ r_b @ E_phi_b.T + M_b"),
    "RJ2W (38)": (R_BAR, TWO_WAY),
}

# WD89: velocities and accelerations at the inertial origin are spatial ones; s_i are H*, f_j what joint j carries.
FORCES = "phi @ (M @ alpha + B_v @ V)"
WD89 = {
    "WD89 (2)": ("V", "E_phi.T @ V + H.T @ v"),
    "WD89 (3)": ("alpha", "E_phi.T @ alpha + H.T @ qdd + V_tilde @ H.T @ v + E.T @ a_g"),
    "WD89 (10)": ("M @ alpha + B_v @ V", "M @ alpha - V_tilde.T @ M @ V"),
    "WD89 (11)": (FORCES, f"E_phi @ {FORCES} + M @ alpha + B_v @ V"),
    "WD89 (12)": ("mass @ qdd + C + g", f"H @ {FORCES}"),
}

NOT_OPERATORS = {
    "RJK91": {
        **dict.fromkeys((21, 22, 23, 26), "of two robots: tests/expression/test_robots.py"),
    },
    "KJR92": {
        **dict.fromkeys((1, 7, 9), "what coordinates of a task are"),
        **dict.fromkeys((17, 18, 19, 20, 21, 22, 36), "matrices written out"),
        **dict.fromkeys((30, 31, 32), "blocks of (25), (26), (27)"),
        **dict.fromkeys((39,), "a recursion, (38) link by link"),
        **dict.fromkeys((47, 48), "blocks of one link"),
    },
    "R87": {
        **dict.fromkeys((1, 2, 3, 33, 84, 85, 86), "blocks of one link: what M, φ, r and P are made of"),
        **dict.fromkeys((6, 21, 35, 44), "where a recursion starts"),
        **dict.fromkeys((7, 8, 9, 10, 15), "Newton's and Euler's equations of one link"),
        **dict.fromkeys((52, 53, 54, 55, 56, 59, 60, 64, 66), "what expectations are called"),
        71: "names of what (70) uses",
    },
    "RJ2W": {
        **dict.fromkeys((1, 5, 8, 9, 39, 40, 41, 42), "matrices written out, or integrals over one link"),
        **dict.fromkeys((35, 36, 37), "the continuous process"),
    },
    "WD89": {
        **dict.fromkeys((1, 8, 9), "products of homogeneous transforms"),
        **dict.fromkeys((4, 5, 6, 7), "functions of the primary joints"),
    },
}

PAPERS = {"RJK91": RJK91, "KJR92": KJR92, "R87": R87, "RJ2W": RJ2W, "WD89": WD89}
PRINTED = {name: pair for paper in PAPERS.values() for name, pair in paper.items()}
