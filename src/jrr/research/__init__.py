"""What is studied with the library: the paper, audits, attacks, benchmarks, demonstrations."""
