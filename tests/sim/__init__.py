"""The whole cluster in one process, from one seed: real cores, fake time, chance and network."""
