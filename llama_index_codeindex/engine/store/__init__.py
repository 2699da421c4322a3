"""What is kept: one catalog with everything an index knows, and how a generation follows another."""
