"""Load on a collector: many uploads at a rate that does not wait for the server."""
