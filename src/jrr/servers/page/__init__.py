"""The answer page: static files for contributors' browsers, served to whoever asks."""
