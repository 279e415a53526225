"""Benchmarks of the product, each beside what a user would take instead; ``python -m bench`` runs them."""
