"""The paper's grid of trainings: its cells, their results, and the commands that run them."""
