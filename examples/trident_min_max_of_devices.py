"""Trident: of each batch of readings the least and the greatest, by a field or by a comparator.

heronpy run examples/trident_min_max_of_devices.py

Storm's TridentMinMaxOfDevicesTopology, with fixed readings.
"""

from heronpy_compat.trident import Debug, FixedBatchSpout, TridentTopology

DEVICES = FixedBatchSpout(
    ["device", "count"], 4, *[[f"device {number}", number * 7 % 11] for number in range(8)]
)
VEHICLES = FixedBatchSpout(
    ["vehicle", "speed", "weight"],
    5,
    ["truck", 80, 7500],
    ["car", 130, 1400],
    ["bicycle", 25, 14],
    ["bus", 80, 12000],
    ["scooter", 45, 95],
)


def by_weight_for_speed(left, right):
    """Negative if the left vehicle has less weight for its speed."""
    return left["weight"] * right["speed"] - right["weight"] * left["speed"]


if __name__ == "__main__":
    topology = TridentTopology()
    devices = topology.new_stream("devices", DEVICES)
    for name, stream in (
        ("least count", devices.min_by("count")),
        ("greatest count", devices.max_by("count")),
    ):
        stream.each(["device", "count"], Debug(f"{name}: "))
    vehicles = topology.new_stream("vehicles", VEHICLES)
    for name, stream in (
        ("slowest", vehicles.min_by("speed")),
        ("fastest", vehicles.max_by("speed")),
        ("lightest for its speed", vehicles.min(by_weight_for_speed)),
        ("heaviest for its speed", vehicles.max(by_weight_for_speed)),
    ):
        stream.each(["vehicle", "speed", "weight"], Debug(f"{name}: "))
    topology.submit("TridentMinMax", {"topology.trident.batch.emit.interval.millis": 100})
