# Everything from a fresh clone: each target first makes what it needs, so that `make demo` and `make test` need no preparation.
#
#   make demo     a busy trie, and a consistent cut of it in Spark             (ARGS="--threads 4 --messages 100000")
#   make test     lint, then the tests: both twins, on Python 3.11 and on a free-threaded interpreter if there is one
#   make lint     ruff, ruff format --check, mypy --strict
#   make stress   the tries under real threads and under every schedule of small scenarios, and mutants of them
#   make explored the explorer on the compiled modules, in a separate build    (ARGS="--duration 60", REPLAY=token)
#   make races    the compiled modules under ThreadSanitizer, on TSAN_PYTHON=... (docs/stress/these-tries.md)
#   make sanitize the compiled modules under gcc's address and undefined-behaviour sanitizers (docs/stress/these-tries.md)
#   make bench    the benchmarks                                               (ARGS="--quick")
#   make test-brokers  the matchers against a real Mosquitto, RabbitMQ and NATS, which it installs (Debian, Ubuntu)
#   make test-sparks  what works with which Spark, each in an environment of its own, into docs/spark.md
#   make docs     the manual, into docs/_build
#   make pictures the manual's pictures of tries, drawn from real ones
#   make build    bring the compiled modules up to date with their sources
#   make clean    remove everything that the other commands have made
#
# PYTHON=... and FREE_THREADED_PYTHON=... name interpreters that make does not find by itself.

.DEFAULT_GOAL := help
ifndef SIDE_BY_SIDE
.NOTPARALLEL:
endif
.DELETE_ON_ERROR:
.PHONY: help demo test test-gil test-free-threaded test-free-threaded-twin lint format stress explored races sanitize sanitize-free-threaded bench test-brokers brokers test-sparks docs pictures build clean java

PYTHON ?= $(firstword $(foreach name,python3.11 python3.12 python3.13 python3.14 python3,$(shell command -v $(name))))
SOURCES := setup.py $(shell find ctrie subtrie -name '*.py' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.h')

# Only pyspark comes as source (it is pure Python): building pyarrow, pandas or numpy would take half an hour and then fail.
PIP_INSTALL = pip install --disable-pip-version-check --only-binary :all: --no-binary pyspark \
	$(shell test -t 2 || echo --quiet --progress-bar off)
# The project runs only in its virtual environments; the shell's settings for other environments would break it.
unexport PYTHONPATH PYTHONHOME SPARK_HOME PYSPARK_PYTHON PYSPARK_DRIVER_PYTHON
export PYTHONNOUSERSITE := 1

help:
	@sed -n 's/^# \{0,1\}//; 1,/^PYTHON/ { /^ .*make /p }' Makefile

# --- What people run --------------------------------------------------------------------------------------------------

demo: java .venv/built
	.venv/bin/python -m examples.demo --html build/demo.html $(ARGS)

# In parts, one more at a time than there are processors, since parts that start processes and sessions often wait. Each
# part shows its output when it is done.
test: java .venv/installed
	@echo "== The checks run in $(words $(PARTS)) parts, some at a time; each shows its output when it is done"
	@$(MAKE) --no-print-directory --jobs $$(($$(getconf _NPROCESSORS_ONLN) + 1)) --output-sync=target SIDE_BY_SIDE=yes $(PARTS)
	@echo "== All parts passed"

# The longest part first. The explorer asks the garbage collector which objects refer to an object, and tests of the tries
# start collections again and again. Both take several times as long in a process that has loaded Spark, Arrow and all tests.
GIL := gil-outside gil-interpreted gil-stress gil-core
FREE_THREADED := free-threaded-core free-threaded-outside free-threaded-interpreted
PARTS := free-threaded-built $(firstword $(GIL)) lint $(FREE_THREADED) $(wordlist 2,9,$(GIL))
.PHONY: $(PARTS)

# Folders, so that a new test is in them by where it stands.
CORE := tests/ctrie tests/subtrie tests/fields ctrie subtrie
STRESS := tests/stress stress
OUTSIDE := tests/snapshot tests/whole snapshot README.md

# Tests that take long, need Spark or test the stress tool show nothing new about the interpreted twin. Tests marked `once`
# show nothing new in any other run.
INTERPRETED := -m "not slow and not spark and not once"
COMPILED := -m "not once"

test-gil: java $(GIL)
gil-core gil-stress gil-outside gil-interpreted: .venv/built
gil-core:
	$(call test_twin,.venv,compiled,$(CORE))
gil-stress:
	$(call test_twin,.venv,compiled,$(STRESS))
gil-outside:
	$(call test_twin,.venv,compiled,$(OUTSIDE))
gil-interpreted:
	$(call test_twin,.venv,interpreted,$(INTERPRETED) $(CORE) $(OUTSIDE))

test-free-threaded: java $(FREE_THREADED)
$(FREE_THREADED): free-threaded-built
free-threaded-core:
	$(call test_free_threaded,compiled,$(COMPILED) $(CORE) $(STRESS))
free-threaded-outside:
	$(call test_free_threaded,compiled,$(COMPILED) $(OUTSIDE))
free-threaded-interpreted:
	$(call test_free_threaded,interpreted,$(INTERPRETED) $(CORE) $(OUTSIDE))

# The interpreter is searched here and not when make starts, since the helper of a sibling folder may have to build one first.
free-threaded-built:
	@python="$${FREE_THREADED_PYTHON:-$$(command -v python3.14t || command -v python3.13t || true)}"; \
	helper=../shared/bin/free-threaded-python; \
	if [ -z "$$python" ] && [ -x $$helper ]; then python=$$($$helper) || exit 1; fi; \
	if [ -z "$$python" ] && [ -e .venv-t/built ]; then python=.venv-t/bin/python; fi; \
	if [ -z "$$python" ]; then \
		echo "== Tests: no free-threaded Python found, so that half was left out; to include it, install python3.13t or" \
			"python3.14t (for instance: uv python install 3.14t) or set FREE_THREADED_PYTHON to the path of one."; \
	else \
		$(MAKE) --no-print-directory .venv-t/built FREE_THREADED_PYTHON="$$python"; \
	fi

# With `ARGS`, a part may have nothing to run, which pytest calls 5.
define test_twin
@echo "== Tests: $$($(1)/bin/python -VV), $(2) twin"
@CTRIE_TWIN=$(2) CTRIE_EXPECT_TWIN=$(2) $(1)/bin/python -m pytest $(3) $(ARGS) $(if $(ARGS),|| test $$? = 5)
endef

define test_free_threaded
@test ! -e .venv-t/built || $(MAKE) --no-print-directory test-free-threaded-twin TWIN=$(1) TESTS='$(2)'
endef

test-free-threaded-twin:
	$(call test_twin,.venv-t,$(TWIN),$(TESTS))

lint: .venv/built
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/mypy

format: .venv/built
	.venv/bin/ruff check --fix
	.venv/bin/ruff format

# On the free-threaded interpreter once `make test` has found one, since that is where threads meet.
STRESSED := $(if $(wildcard .venv-t/built),.venv-t,.venv)
stress: $(STRESSED)/built .venv/built build/explored/built
	.venv/bin/python -m stress mutants
	$(STRESSED)/bin/python -m stress run --duration 300 $(ARGS)
	.venv/bin/python -m stress explore --bounded
	.venv/bin/python -m pytest -m cluster tests/snapshot/test_cluster.py tests/whole/test_examples.py
	STRESS_PUBLISHING=1 .venv/bin/python -m pytest --timeout 3600 tests/snapshot/test_published_crashes.py \
		tests/snapshot/test_published_soak.py
	$(EXPLORING) -m stress explore --compiled
	export PYTHONMALLOC=debug && $(EXPLORING) -m stress explore --compiled --ideal --part stops --part snapshots
	STRESS_COMPILED=1 .venv/bin/python -m pytest tests/stress/test_compiled.py

# The compiled modules on slots that ask the explorer (stress/tries/seam), in a folder of their own, since extensions of two
# builds for the same version have the same names. For schedules to be repeatable, every process must hash texts alike.
EXPLORED := build/explored
EXPLORING = cd $(EXPLORED)/lib && PYTHONHASHSEED=0 CTRIE_TWIN=compiled PYTHONPATH=. $(CURDIR)/.venv/bin/python
explored: $(EXPLORED)/built
	$(EXPLORING) -m stress $(if $(REPLAY),replay $(REPLAY),explore --compiled $(ARGS))

$(EXPLORED)/built: .venv/built $(SOURCES) $(shell find stress -name '*.py' -o -name '*.pyx' -o -name '*.h' -o -name '*.html')
	@echo "== Compiling what the explorer runs"
	@test ! -d $(EXPLORED)/lib || find $(EXPLORED)/lib -name '*.py' -delete  # a module that is gone must not be read
	@CTRIE_EXPLORED=1 .venv/bin/python setup.py --quiet build --build-base $(EXPLORED) --build-lib $(EXPLORED)/lib \
		--parallel "$$(getconf _NPROCESSORS_ONLN)"
	@touch $@

# In a copy of the sources, since extensions of two builds for the same version have the same names. Cython's output is copied,
# too: it is the same for every interpreter, and Cython takes a quarter of an hour under the sanitizer.
RACES := build/races
soabi = $$('$(1)' -c 'import sysconfig; print(sysconfig.get_config_var("SOABI"))')
QUIETLY := TSAN_OPTIONS=report_bugs=0 $(MAKE) --no-print-directory -C $(RACES)
# An undecided campaign (status 2) has found no race. Under the sanitizer calls take long, so many overlap.
RACING := tests/ctrie/test_stress.py tests/ctrie/test_reclamation.py tests/subtrie/test_threads.py tests/ctrie/test_many.py
races: .venv/built
	@'$(TSAN_PYTHON)' -c 'import sys, sysconfig; sys.exit("thread-sanitizer" not in sysconfig.get_config_var("CONFIG_ARGS"))' 2>/dev/null \
		|| { echo "Set TSAN_PYTHON to a Python that is free-threaded and built with ThreadSanitizer. From CPython's sources:" >&2; \
		echo "    ./configure --disable-gil --with-thread-sanitizer --prefix=/some/where && make && make install" >&2; exit 1; }
	@rm -rf $(RACES) && mkdir -p $(RACES)/build
	@cp -R LICENSE Makefile README.md conftest.py pyproject.toml setup.py subtrie_pytest.py ctrie subtrie snapshot stress tests $(RACES)
	@find $(RACES) -name '*.so' -delete
	@$(QUIETLY) .venv-t/installed FREE_THREADED_PYTHON='$(TSAN_PYTHON)' EXTRAS=stress,test
	@cp -R build/cython.$(call soabi,.venv/bin/python) $(RACES)/build/cython.$(call soabi,$(TSAN_PYTHON))
	@$(QUIETLY) .venv-t/built
	@echo "== One race that is known, to see that it is seen"
	@cd $(RACES) && .venv-t/bin/python -m tests.ctrie.known_race >known_race.log 2>&1; grep -q 'SUMMARY.*_cache_counts' known_race.log || \
		{ cat known_race.log; echo "ThreadSanitizer does not see it" >&2; exit 1; }
	@echo "== No others"
	cd $(RACES) && export TSAN_OPTIONS=suppressions=tests/ctrie/known_races.txt && \
		{ .venv-t/bin/python -m stress run --duration 60 || test $$? = 2; } && .venv-t/bin/python -m pytest --timeout 1200 $(RACING)

# The modules with gcc's address and undefined-behaviour sanitizers, in a copy of the sources, as above. CPython's own allocator
# would hide uses after free. Memory that the interpreter itself never frees is not a leak of ours. A debug interpreter also
# checks reference counts: SANITIZE_PYTHON=..., python3.11-dbg if it is there. The sanitizer ends the process with a report
# on file descriptor 2, which pytest must not capture.
SANITIZE_PYTHON ?= $(firstword $(foreach name,python3.11-dbg python3.12-dbg python3.13-dbg python3-dbg,$(shell command -v $(name))) $(PYTHON))
SANITIZED = build/sanitize$(1)
SANITIZING := tests/ctrie tests/subtrie tests/fields
sanitize: .venv/built
	$(call sanitize,,'$(SANITIZE_PYTHON)',.venv)
	@test ! -e .venv-t/built || $(MAKE) --no-print-directory sanitize-free-threaded

sanitize-free-threaded: .venv-t/built
	$(call sanitize,-t,.venv-t/bin/python,.venv-t)

# $(1): a suffix, $(2): the interpreter, $(3): the environment whose Cython has translated the sources to C.
# Free-threaded interpreters have no other allocator than their own, of which the address sanitizer sees large blocks only.
# Sanitized functions take several times as much stack, and nested objects are dropped to a depth of ten thousand.
define sanitize
@echo "== Sanitizing: $$($(2) -VV)"
@rm -rf $(call SANITIZED,$(1)) && mkdir -p $(call SANITIZED,$(1))/build
@cp -R LICENSE Makefile README.md conftest.py pyproject.toml setup.py subtrie_pytest.py ctrie subtrie snapshot stress tests examples docs $(call SANITIZED,$(1))
@find $(call SANITIZED,$(1)) -name '*.so' -delete
@$(MAKE) --no-print-directory -C $(call SANITIZED,$(1)) .venv/installed PYTHON="$$(realpath -s $$(command -v $(2)))" EXTRAS=stress,test
@cp -R build/cython.$(call soabi,$(3)/bin/python) $(call SANITIZED,$(1))/build/cython.$(call soabi,$(2))
@cd $(call SANITIZED,$(1)) && CTRIE_SANITIZE=address,undefined .venv/bin/python setup.py --quiet build_ext --inplace \
	--parallel "$$(getconf _NPROCESSORS_ONLN)"
ulimit -s unlimited || true; cd $(call SANITIZED,$(1)) && LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" $(if $(1),,PYTHONMALLOC=malloc) \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 CTRIE_TWIN=compiled \
	.venv/bin/python -m pytest --capture=sys --timeout 1200 -m "not spark and not slow" $(ARGS) $(SANITIZING)
endef

bench: java .venv/built
	.venv/bin/python -m benchmarks $(ARGS)

test-brokers: brokers .venv/built
	.venv/bin/python -m pytest -m brokers tests/whole/test_brokers.py $(ARGS)

# Each Spark with other versions of what it needs, so that the ranges of pyproject.toml are tested. With the interpreter of
# .venv, since that one's compiled modules are used.
SPARKS := 3.5 4.0 4.1 4.2 4.3
WITH_SPARK_3.5 := 'pyarrow==18.0.*' 'pandas==2.1.*' 'numpy<2' setuptools
WITH_SPARK_4.0 := 'pyarrow==19.*' 'pandas==2.2.*'
WITH_SPARK_4.1 := 'pyarrow==21.*' 'pandas==2.3.*'
WITH_SPARK_4.2 := 'pyarrow==23.*' 'pandas==2.3.*'
WITH_SPARK_4.3 := 'pyarrow==26.*' 'pandas==3.1.*'
test-sparks: $(SPARKS:%=build/sparks/%.json)
	.venv/bin/python -m tests.snapshot.sparks_table $^

.PHONY: $(SPARKS:%=build/sparks/%.json)
$(SPARKS:%=build/sparks/%.json): build/sparks/%.json: build/sparks/%/installed .venv/built | java
	@echo "== Tests with Spark $*"
	@rm -f $@ && SPARKS_REPORT=$@ build/sparks/$*/bin/python -m pytest -o filterwarnings=default tests/snapshot/test_sparks.py --deselect \
		tests/snapshot/test_sparks.py::test_the_page_has_a_row_for_each_feature $(ARGS)

$(SPARKS:%=build/sparks/%/installed): build/sparks/%/installed: pyproject.toml Makefile | .venv/installed
	@echo "== Setting up Spark $*"
	@test -e $(@D)/bin/pip || .venv/bin/python -m venv $(@D)
	@CTRIE_NO_EXTENSIONS=1 $(@D)/bin/python -m $(PIP_INSTALL) --editable '.[spark,test]' 'pyspark==$*.*' $(WITH_SPARK_$*)
	@touch $@

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
.venv/installed: EXTRAS := spark,s3-server,readers,connect,stress,bench,bitmaps,portable,test,lint
.venv-t/installed: EXTRAS := spark,stress,bench,test

.venv/installed .venv-t/installed: %/installed: pyproject.toml | %/bin/pip
	@echo "== Setting up $* for $$($*/bin/python -V); a few minutes, once"
	@$(install)

.venv/bin/pip:
	@$(call require_python,$(PYTHON))
	@'$(PYTHON)' -m venv --clear .venv

.venv-t/bin/pip:
	@$(call require_python,$(FREE_THREADED_PYTHON))
	@'$(FREE_THREADED_PYTHON)' -c 'import sys; sys.exit(getattr(sys, "_is_gil_enabled", lambda: True)())' \
		|| { echo "$(FREE_THREADED_PYTHON) is not a free-threaded Python" >&2; exit 1; }
	@'$(FREE_THREADED_PYTHON)' -m venv --clear .venv-t

.venv/built .venv-t/built: %/built: %/installed $(SOURCES)
	@echo "== Compiling for $$($*/bin/python -V)"
	@$*/bin/python setup.py --quiet build_ext --inplace --parallel "$$(getconf _NPROCESSORS_ONLN)"
	@touch $@

.venv/docs: EXTRAS := docs
.venv/docs: .venv/installed
	@$(install)

# --- What only the machine can provide --------------------------------------------------------------------------------

require_python = '$(1)' -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	echo "Python 3.11 or newer, with its venv module, is needed (found: $(or $(1),none)). Install it, for instance" >&2; \
	echo "    Debian, Ubuntu:  sudo apt-get install python3.11 python3.11-venv python3.11-dev" >&2; \
	echo "    Fedora:          sudo dnf install python3.11 python3.11-devel" >&2; \
	echo "    macOS:           brew install python@3.11" >&2; \
	echo "or name one: make PYTHON=/path/to/python3.11 ..." >&2; \
	exit 1; }

# Tests whose needs cannot be installed are skipped, and say so.
BROKERS = $(strip $(foreach server,mosquitto rabbitmq-server nats-server,$(if $(wildcard /usr/sbin/$(server)),,$(server))))
brokers:
	@if [ -n "$(BROKERS)" ] && command -v apt-get >/dev/null; then \
		echo "== Installing $(BROKERS) from the distribution's packages"; \
		sudo=$$([ "$$(id -u)" = 0 ] || echo sudo); \
		$$sudo apt-get update --quiet=2 && \
		$$sudo env DEBIAN_FRONTEND=noninteractive apt-get install --quiet=2 --yes --no-install-recommends $(BROKERS); \
	fi

java:
	@java="$${JAVA_HOME:+$$JAVA_HOME/bin/}java"; \
	version=$$("$$java" -version 2>&1 | sed -n 's/.* version "\(1\.\)\{0,1\}\([0-9]*\).*/\2/p'); \
	if [ "$${version:-0}" -lt 17 ]; then \
		echo "Java 17 or newer is needed, for Apache Spark ($$java: $${version:+version }$${version:-not found})." \
			"Install it, for instance" >&2; \
		echo "    Debian, Ubuntu:  sudo apt-get install openjdk-17-jre-headless" >&2; \
		echo "    Fedora:          sudo dnf install java-21-openjdk-headless" >&2; \
		echo "    macOS:           brew install openjdk@17" >&2; \
		echo "or set JAVA_HOME to the folder of one that is installed, and run make again." >&2; \
		exit 1; \
	fi
