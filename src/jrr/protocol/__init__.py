"""What every conversation between servers and devices stands on; no sockets, no clock."""
