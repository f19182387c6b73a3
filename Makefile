# Every target builds .venv itself, at the versions of requirements.lock, and runs inside it.

VENV := .venv
PY := $(VENV)/bin/python
SOURCES := src tests tools examples docs benchmarks notebooks

.DEFAULT_GOAL := help
.PHONY: help run test test-all bench bench-loops bench-results docs gallery notebooks lint readme lock clean

help: ## say what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' Makefile

run: $(VENV)/ready-run ## two PUMA 560 catch a tumbling satellite; report and replay in build/grapple
	@$(PY) -m phistar run grapple --out build/grapple
	@echo "For the command phistar: . $(VENV)/bin/activate    A robot of your own: docs/start.md"

test: $(VENV)/ready-test ## the tests, in some ten minutes on two cores
	@$(PY) -m pytest -n 2 --dist loadfile -q -m "not slow and not browser"

test-all: $(VENV)/ready-test ## every test: every robot too, and the pages in a browser
	@sh tools/browser.sh
	@$(PY) -m pytest -n 2 --dist loadfile -q

bench: $(VENV)/ready-test ## ratios against the peers, measured in the same run
	@for program in benchmarks/*.py; do \
	  if [ -e "$$program" ]; then $(PY) "$$program" || exit 1; else echo "There are no benchmarks yet."; fi; \
	done

bench-loops: $(VENV)/ready-test ## closed chains: the IFToMM problems, digits, two arms against Pinocchio
	@$(PY) benchmarks/loops.py

bench-results: $(VENV)/ready-test ## measure anew what the site and README.md show of speed
	@$(PY) tools/bench_results.py && $(PY) docs/generate_benchmarks.py --readme

docs: $(VENV)/ready-docs ## the documentation site, in build/site
	@for program in docs/generate_*.py; do $(PY) "$$program" || exit 1; done
	@$(PY) -m sphinx -W -q -b html docs build/site && echo "Open build/site/index.html"

gallery: $(VENV)/ready-test ## draw the films of the gallery anew, in docs/static/films
	@$(PY) tools/gallery.py

notebooks: $(VENV)/ready-test ## run the notebooks of the five papers anew
	@$(PY) tools/notebooks.py

lint: $(VENV)/ready-test ## format, lint, types, import layers
	@$(PY) -m ruff format --check $(SOURCES)
	@$(PY) -m ruff check $(SOURCES)
	@$(PY) -m pyright
	@$(VENV)/bin/lint-imports

readme: $(VENV)/ready-test ## renew the output shown in README.md and in the pages of docs/
	@$(PY) docs/generate_benchmarks.py --readme
	@$(PY) tools/pages.py

lock: $(VENV)/ready-run ## renew requirements.lock (on the oldest Python supported)
	@$(PY) tools/lock.py

clean: ## remove what make and the tools have built
	@rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache .grimp_cache
	@find $(SOURCES) -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/ready-%: requirements.lock pyproject.toml tools/bootstrap.py
	@sh tools/with_python.sh tools/bootstrap.py $*
