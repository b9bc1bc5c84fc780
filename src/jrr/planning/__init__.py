"""From what is known before a survey to the mechanism that fits it best."""
