"""The pytest plugin by its former name, as in `pytest -p stress.plugin`; see `subtrie_pytest`."""

pytest_plugins = ["subtrie_pytest"]
