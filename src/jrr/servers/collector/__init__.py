"""The collector's server: it takes perturbed reports and never sees a card."""
