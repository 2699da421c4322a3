"""A question to hits: what is asked, the lanes that find candidates, their fusion, and the ranking."""
