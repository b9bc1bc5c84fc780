"""Plans and results for people: words, pictures and pages."""
