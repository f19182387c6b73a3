"""The files of a WebAssembly export: the module, a loader in JavaScript, and an example that checks itself."""

from __future__ import annotations

import json
from dataclasses import dataclass

from phistar.backends.code.c import CFunction
from phistar.export.files import about, example_state, expected_results
from phistar.recording import Recording

_LOADER = """\
const NAME = %(name)s, ARGUMENTS = %(arguments)s, RESULTS = %(results)s, WORK = %(work)d;

/* The function, of a module given as bytes or found beside this file. It takes an array for each argument and returns
   a Float64Array for each result, by name; they are views that its next call fills anew. */
export async function load(bytes) {
  const code = bytes ?? await read(new URL(`./${NAME}.wasm`, import.meta.url));
  const { instance } = await WebAssembly.instantiate(code, { math: { sin: Math.sin, cos: Math.cos } });
  const { memory, free, [NAME]: compute } = instance.exports;
  const sizes = [...ARGUMENTS, ...RESULTS].map(([, size]) => size).concat(WORK ? [WORK] : []);
  const start = Math.ceil(free.value / 8) * 8, starts = [];
  let end = start;
  for (const size of sizes) { starts.push(end); end += 8 * size; }
  const missing = end - memory.buffer.byteLength;
  if (missing > 0) memory.grow(Math.ceil(missing / 65536));
  const arrays = sizes.map((size, i) => new Float64Array(memory.buffer, starts[i], size));
  const results = Object.fromEntries(RESULTS.map(([name], i) => [name, arrays[ARGUMENTS.length + i]]));
  return (...given) => {
    if (given.length !== ARGUMENTS.length) {
      throw new TypeError(`${NAME} takes ${ARGUMENTS.map(([name]) => name).join(", ")}: ${given.length} given.`);
    }
    ARGUMENTS.forEach(([name, size], i) => {
      const count = given[i].length;
      if (count !== size) throw new TypeError(`${NAME}: ${name} has ${size} entries, not ${count}.`);
      arrays[i].set(given[i]);
    });
    compute(...starts);
    return results;
  };
}

async function read(url) {
  if (url.protocol !== "file:") return (await fetch(url)).arrayBuffer();
  const { readFile } = await import("node:fs/promises");
  return readFile(url);
}
"""

_EXAMPLE = """\
/* %(name)s at one state, against the numbers that phistar finds there: node %(name)s_example.mjs */
import { load } from "./%(name)s.mjs";

const given = %(given)s;
const expected = %(expected)s;
const compute = await load(), results = compute(...given);
let worst = 0;
for (const [name, numbers] of Object.entries(expected)) {
  numbers.forEach((number, i) => {
    const error = Math.abs(results[name][i] - number) / (1 + Math.abs(number));
    if (!(error <= worst)) worst = error;
    console.log(`${name}[${i}] = ${results[name][i]}`);
  });
}
console.log(`largest relative difference from phistar: ${worst.toExponential(1)}`);
process.exitCode = worst < 1e-9 ? 0 : 1;
"""


@dataclass(frozen=True)
class WebFunction:
    """A module of WebAssembly, and the text in JavaScript of its `load`."""

    module: bytes
    loader: str


def loaded_module(code: CFunction) -> WebFunction:
    """The module of a function, and its loader."""
    facts = {
        "name": json.dumps(code.name),
        "arguments": json.dumps(list(code.arguments)),
        "results": json.dumps(list(code.outputs)),
        "work": code.work,
    }
    return WebFunction(code.web_module(), _LOADER % facts)


def web_files(found: Recording, code: CFunction) -> dict[str, str | bytes]:
    """Name and content of every file."""
    values = example_state(found)
    expected, numbers, start = expected_results(found, list(values.values())), {}, 0
    for name, size in code.outputs:
        numbers[name] = expected[start : start + size].tolist()
        start += size
    made = loaded_module(code)
    comment = "".join(f" * {line}".rstrip() + "\n" for line in about(found, code))
    given = json.dumps([x.tolist() for x in values.values()])
    shown = {"name": code.name, "given": given, "expected": json.dumps(numbers)}
    return {
        f"{code.name}.wasm": made.module,
        f"{code.name}.mjs": f"/*\n{comment} */\n{made.loader}",
        f"{code.name}_example.mjs": _EXAMPLE % shown,
    }
