"""Programs over chains of wide links, block by block: each product a loop over tiles of vector registers."""
