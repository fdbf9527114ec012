"""The checks of `heronpy doctor`: of the installation, the machine, the servers, and a trial."""
