"""What the three servers share: HTTP, databases, settings, refusals."""
