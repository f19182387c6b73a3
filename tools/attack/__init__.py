"""Attacks on everything that phistar reads from strangers: mutated files by the thousand, each of which must load or be
refused with a sentence, in bounded time and memory.

    python -m tools.attack                       1000 cases over all kinds
    python -m tools.attack --cases 100000        what `make test-all` tries
    python -m tools.attack --kind mesh --case 17 one case again, with its traceback
"""
