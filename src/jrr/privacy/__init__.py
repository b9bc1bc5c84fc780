"""What an adversary can learn, computed from whole numbers of random words, rounded up."""
