# Everything from a fresh clone: each target first makes what it needs, so that `make demo` and `make test` need no preparation.
#
#   make demo     a busy trie, and a consistent cut of it in Spark             (ARGS="--threads 4")
#   make test     lint, and the quick tests of both twins, on Python 3.11 and a free-threaded one  (ARGS=--gil, or for pytest)
#   make test-all all the rest after it: slow tests, more examples, Spark, the pages
#   make docs-check  what pages say: their commands, figures, pictures and demonstrations
#   make lint     ruff, ruff format --check, mypy --strict
#   make stress   the tries under real threads and under every schedule of small scenarios, and mutants of them
#   make explored the explorer on the compiled modules, in a separate build    (ARGS="--duration 60", REPLAY=token)
#   make races    the compiled modules under ThreadSanitizer, on TSAN_PYTHON=... (docs/stress/these-tries.md)
#   make sanitize the compiled modules under gcc's address and undefined-behaviour sanitizers (docs/stress/these-tries.md)
#   make soak     10^8 verified operations on each build, logged in build/soak-*.log  (ARGS="--operations 1000000")
#   make bench    the benchmarks                                               (ARGS="--quick")
#   make test-brokers  the matchers against a real Mosquitto, RabbitMQ and NATS, which it installs (Debian, Ubuntu)
#   make test-sparks  what works with which Spark, each in an environment of its own, into docs/spark.md
#   make builds   every interpreter and compiler found: compiles, runs the core's tests, writes docs/install.md   (ARGS=...)
#   make release  the wheel and the source distribution, into dist/, checked and installed (tools/release.py)
#   make docs     the manual, into docs/_build
#   make pictures the manual's pictures of tries, drawn from real ones
#   make build    bring the compiled modules up to date with their sources
#   make clean    remove everything that the other commands have made
#
# PYTHON=... and FREE_THREADED_PYTHON=... name interpreters that make does not find by itself.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help demo test test-all docs-check lint format stress soak explored races sanitize bench test-brokers test-sparks docs pictures build clean java builds release

PYTHON ?= $(firstword $(foreach name,python3.11 python3.12 python3.13 python3.14 python3,$(shell command -v $(name))))
SOURCES := setup.py $(shell find ctrie subtrie -name '*.py' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.[ch]')

# Only pyspark comes as source (it is pure Python): building pyarrow, pandas or numpy would take half an hour and then fail.
# Of two gigabytes of modules a run imports few, so each is compiled when it is first imported.
PIP_INSTALL = pip install --disable-pip-version-check --no-compile --only-binary :all: --no-binary pyspark \
	$(shell test -t 2 || echo --quiet --progress-bar off)
# The project runs only in its virtual environments; the shell's settings for other environments would break it.
unexport PYTHONPATH PYTHONHOME SPARK_HOME PYSPARK_PYTHON PYSPARK_DRIVER_PYTHON
export PYTHONNOUSERSITE := 1

help:
	@sed -n 's/^# \{0,1\}//; 1,/^PYTHON/ { /^ .*make /p }' Makefile

# --- What people run --------------------------------------------------------------------------------------------------

demo: java .venv/built
	.venv/bin/python -m examples.demo $(ARGS)

test: .venv/installed
	@$(if $(ARGS),,mkdir -p build && touch build/testing)
	@.venv/bin/python -m tools.checks quick $(ARGS)
	@$(if $(ARGS),,mv build/testing build/tested)

# Not once more what `make test` has passed with these texts. As for a build, the mark is as old as the beginning.
build/tested: $(wildcard $(shell git ls-files --cached --others --exclude-standard 2>/dev/null))
	@$(MAKE) --no-print-directory test

test-all: java build/tested
	@.venv/bin/python -m tools.checks rest $(ARGS)

docs-check: java .venv/built
	.venv/bin/python -m pytest -m docs tests $(ARGS)

lint: .venv/installed
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/mypy

format: .venv/installed
	.venv/bin/ruff check --fix
	.venv/bin/ruff format

# On the free-threaded interpreter once `make test` has found one, since that is where threads meet.
STRESSED := $(if $(wildcard .venv-t/built),.venv-t,.venv)
stress: $(STRESSED)/built .venv/built build/explored/built
	.venv/bin/python -m tests.tries mutants
	$(STRESSED)/bin/python -m tests.tries run --duration 300 $(ARGS)
	.venv/bin/python -m tests.tries explore
	.venv/bin/python -m pytest -m cluster tests/snapshot/test_cluster.py tests/whole/test_examples.py
	STRESS_PUBLISHING=1 STRESS_OUTAGE=60 .venv/bin/python -m pytest -s --timeout 3600 tests/snapshot/test_published_kills.py \
		tests/snapshot/test_published_damage.py
	$(EXPLORING) -m tests.tries explore --compiled
	$(call EXPLORING,PYTHONMALLOC=debug) -m tests.tries explore --compiled --ideal --part stops --part sequences
	$(call EXPLORING,PYTHONMALLOC=malloc $(MEMCHECK)) -m tests.tries explore --compiled --ideal --part sequences map topics shares
	STRESS_COMPILED=1 .venv/bin/python -m pytest tests/stress/test_compiled.py
	export STRESS_ALLOCATIONS=1 && for twin in compiled interpreted; do CTRIE_TWIN=$$twin $(STRESSED)/bin/python -m pytest \
		--timeout 3600 tests/whole/test_no_memory.py || exit 1; done

soak: .venv/built
	.venv/bin/python -m tests.soak --log build/soak-gil.log $(ARGS)
	@test ! -e .venv-t/built || .venv-t/bin/python -X gil=0 -m tests.soak --log build/soak-free-threaded.log $(ARGS)

# The compiled modules on slots that ask the explorer (tests/tries/seam), in a folder of their own, since extensions of two
# builds for the same version have the same names. For schedules to be repeatable, every process must hash texts alike.
# What EXPLORING is called with stands before the interpreter; memcheck sees every use of freed memory.
EXPLORED := build/explored
MEMCHECK := valgrind --quiet --undef-value-errors=no
EXPLORING = cd $(EXPLORED)/lib && PYTHONHASHSEED=0 CTRIE_TWIN=compiled PYTHONPATH=. $(1) $(CURDIR)/.venv/bin/python
explored: $(EXPLORED)/built
	$(EXPLORING) -m tests.tries $(if $(REPLAY),replay $(REPLAY),explore --compiled $(ARGS))

$(EXPLORED)/built: .venv/built $(SOURCES) $(shell find stress tests/tries -name '*.py' -o -name '*.pyx' -o -name '*.h' -o -name '*.html')
	@echo "== Compiling what the explorer runs"
	@test ! -d $(EXPLORED)/lib || find $(EXPLORED)/lib -name '*.py' -delete  # a module that is gone must not be read
	@CTRIE_EXPLORED=1 .venv/bin/python setup.py --quiet build --build-base $(EXPLORED) --build-lib $(EXPLORED)/lib
	@mkdir -p $(EXPLORED)/lib/tests && cp -R tests/__init__.py tests/tries $(EXPLORED)/lib/tests
	@touch $@

races: .venv/built
	@.venv/bin/python -m tools.sanitized races '$(TSAN_PYTHON)'

sanitize: .venv/built
	@.venv/bin/python -m tools.sanitized sanitize $(ARGS)

builds: .venv/built
	.venv/bin/python -m tools.builds $(ARGS)

release: .venv/release .venv/built
	.venv/bin/python -m tools.release $(ARGS)

bench: java .venv/built
	.venv/bin/python -m benchmarks $(ARGS)

test-brokers: .venv/built
	@.venv/bin/python tools/needs.py brokers
	.venv/bin/python -m pytest -m brokers tests/whole/test_brokers.py $(ARGS)

test-sparks: java .venv/built
	@.venv/bin/python -m tools.sparks $(ARGS)

docs: .venv/docs .venv/built
	.venv/bin/sphinx-build --quiet --fail-on-warning --keep-going docs docs/_build
	@echo "The manual is at docs/_build/index.html"

# Only the interpreted twin shows its nodes, and the hash of a text determines the place of its branch.
pictures: .venv/installed
	CTRIE_TWIN=interpreted PYTHONHASHSEED=0 .venv/bin/python -m docs.pictures

build: .venv/built

clean:
	rm -rf .venv .venv-t build dist docs/_build *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	rm -rf artifacts derby.log metastore_db spark-warehouse
	find ctrie subtrie -name '*.so' -delete
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- The environments -------------------------------------------------------------------------------------------------
# `installed` is as new as pyproject.toml. `built` is as new as every source that is compiled, since a stale extension would
# hide the edited source beside it; after a failed compile it is not made, so that the next target tries again.

# The extensions are left to `built`, which shows their messages; pip hides them.
define install
CTRIE_NO_EXTENSIONS=1 $(@D)/bin/python -m $(PIP_INSTALL) --editable '.[$(EXTRAS)]'
@touch $@
endef

# `bitmaps`, `portable`, `s3-server`, `readers` and `connect` have no builds for free-threaded interpreters.
.venv/installed: EXTRAS := spark,s3-server,readers,connect,stress,bench,bitmaps,portable,test,lint,docs
.venv-t/installed: EXTRAS := spark,stress,bench,test

.venv/installed .venv-t/installed: %/installed: pyproject.toml | %/bin/pip
	@echo "== Setting up $* for $$($*/bin/python -V); a few minutes, once"
	@$(install)

.venv/bin/pip: INTERPRETER = $(PYTHON)
.venv-t/bin/pip: INTERPRETER = $(FREE_THREADED_PYTHON)
.venv/bin/pip .venv-t/bin/pip: %/bin/pip:
	@sh tools/require_python.sh '$(INTERPRETER)'
	@'$(INTERPRETER)' -c 'import sys; sys.exit("$*" == ".venv-t" and getattr(sys, "_is_gil_enabled", lambda: True)())' \
		|| { echo "$(INTERPRETER) is not a free-threaded Python" >&2; exit 1; }
	@'$(INTERPRETER)' -m venv --clear $*

# The mark is as old as the build's beginning: who edits a source meanwhile gets another build.
.venv/built .venv-t/built: %/built: %/installed $(SOURCES)
	@echo "== Compiling for $$($*/bin/python -V)"
	@touch $*/building
	@$*/bin/python setup.py --quiet build_ext --inplace
	@mv $*/building $@

.venv/docs .venv/release: EXTRAS = $(@F)
.venv/docs .venv/release: .venv/installed
	@$(install)

# --- What only the machine can provide (tools/needs.py, tools/require_python.sh) --------------------------------------

java:
	@sh tools/require_python.sh '$(PYTHON)'
	@'$(PYTHON)' tools/needs.py java
