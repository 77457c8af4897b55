"""The paper's tables and figures from the cells of a store, beside the paper's numbers."""
