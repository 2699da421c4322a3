"""How money comes in, and how it goes back."""
