"""Closed chains: closures as rows on task motions and joint rates, what follows from them, and how to meet them."""
