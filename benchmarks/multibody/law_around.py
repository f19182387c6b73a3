"""A user's law around forward dynamics of a long chain beside forward dynamics alone, by turns in one run.

python benchmarks/multibody/law_around.py [LINKS]      # 100 by default

Thread time, least of many: what a state takes on one core, however loaded the machine is.
"""

import sys
import time

import numpy as np

import phistar as ps

STATES = (1, 16, 64, 256, 1024, 4096)


def fastest(functions, arguments, rounds):
    best = [np.inf] * len(functions)
    for _ in range(rounds):
        for i, function in enumerate(functions):
            began = time.thread_time()
            function(*arguments)
            best[i] = min(best[i], time.thread_time() - began)
    return best


def main(links):
    chain, rng = ps.chain(links), np.random.default_rng(0)

    def alone(q, v, x):
        return ps.forward_dynamics(chain, q, v, x)

    def held(q, v, x):
        return ps.forward_dynamics(chain, q, v, -20.0 * (q - x) - 3.0 * v)

    one = rng.standard_normal((3, links))
    alone(*one)
    began = time.perf_counter()
    law = ps.compile(held, chain, rows={"x": links})
    law(*one)
    print(f"chain of {links}: compiled in {time.perf_counter() - began:.2f} s beyond forward dynamics")
    for count in STATES:
        given = one if count == 1 else rng.standard_normal((3, count, links))
        least, own = (1e6 * t / count for t in fastest((alone, law), given, max(20, 2000 // count)))
        print(f"{count:5} states: {least:6.3f} µs a state alone, {own:6.3f} with the law, {own / least:.3f} times")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
