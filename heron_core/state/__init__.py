"""The state of a component: named states by key, where they live, and how they are saved."""
