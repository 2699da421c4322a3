"""Who uses what: references with a confidence, callers, impact, and a map of the whole. Read from the index alone."""
