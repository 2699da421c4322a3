"""What is kept: the catalog (the one truth), and the full text and vectors derived from it."""
