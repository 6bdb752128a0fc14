// Package numerics holds tests alone: they run what models writes in ONNX
// Runtime and compare the numbers with PyTorch's, with BERT computed in plain
// Go, and with sums done by hand. They need cgo and the installed runtime,
// which is why they are not beside the packages they test.
package numerics
