# The commands a developer types; `just` lists them.

python := ".venv/bin/python"

# List the commands.
default:
    @just --list

# Make the virtual environment with everything the tests need.
setup:
    python3 -m venv .venv
    {{python}} -m pip install -e '.[dev]'

# Format, lint and check the types.
check:
    {{python}} -m ruff check --fix .
    {{python}} -m ruff format .
    {{python}} -m mypy --strict

# Run the tests, or those of one room: `just test tests/search`.
test *paths:
    {{python}} -m pytest -n 3 {{paths}}

# Measure rules and search, and print the signature of the search.
bench:
    {{python}} -m kibitz bench position
    {{python}} -m kibitz bench search

# Do all that is checked before a change is accepted.
ci:
    .ci/run
