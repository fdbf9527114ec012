"""Where the states of a topology's instances are kept, checkpoint by checkpoint."""
