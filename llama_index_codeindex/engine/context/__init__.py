"""Hits to what a model is given: windows of lines, delimiters that cannot be forged, and a token budget."""
