"""How Trident runs: the coordinator of batches, the bolts between repartitionings."""
