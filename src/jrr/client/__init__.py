"""The network side of contributors and operators; it needs no server code."""
