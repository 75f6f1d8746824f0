"""The HDF5 feature store; nothing else in featbert knows HDF5."""
