"""Speed, memory and scale, measured beside the peers: `python -m tests.benchmarks`. Never collected by pytest."""
