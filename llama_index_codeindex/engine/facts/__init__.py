"""Dependency facts: declared packages, locked versions and runtimes, each with the file and line that says so."""
