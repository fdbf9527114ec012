"""The pages of `heronpy ui`: what they show is decided by pure functions, NiceGUI draws it."""
