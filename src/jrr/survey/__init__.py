"""What the roles exchange when they are not in one process."""
