"""The paper's grid of trainings: which there are, what they gave, and how they are run."""
