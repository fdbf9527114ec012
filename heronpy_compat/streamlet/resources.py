"""What a container may use (heronpy.streamlet.resources)."""

_MIB = 1024 * 1024


class Resources:
    """Cores and bytes of memory; what is 0 is left to the packing. Setters return the object."""

    def __init__(self) -> None:
        self._cpu = 0.0
        self._ram = 0

    def set_cpu(self, cpu: float) -> "Resources":
        """Set the number of cores."""
        self._cpu = float(cpu)
        return self

    def set_ram(self, ram: int) -> "Resources":
        """Set the memory in bytes."""
        self._ram = int(ram)
        return self

    def set_ram_in_mb(self, ram: float) -> "Resources":
        """Set the memory in MiB."""
        return self.set_ram(int(ram * _MIB))

    def set_ram_in_gb(self, ram: float) -> "Resources":
        """Set the memory in GiB."""
        return self.set_ram_in_mb(ram * 1024)

    def get_cpu(self) -> float:
        """The number of cores."""
        return self._cpu

    def get_ram(self) -> int:
        """The memory in bytes."""
        return self._ram

    def __repr__(self) -> str:
        return f"Resource {{cpu: {self._cpu:f}, ram: {self._ram}}}"
