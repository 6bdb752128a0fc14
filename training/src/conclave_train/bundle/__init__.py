"""What travels: the bundle's manifest, ONNX graphs, representatives and card."""
