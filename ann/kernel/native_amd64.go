package kernel

import "golang.org/x/sys/cpu"

// native returns the sets in assembly that this processor can run, the fastest first; nil if there is none.
func native() []*Set {
	var sets []*Set
	x := &cpu.X86
	wide := x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL && x.HasBMI2
	avx2 := x.HasAVX2 && x.HasFMA && x.HasF16C
	if wide && avx2 && x.HasAVX512VNNI {
		sets = append(sets, &vnniSet)
	}
	if wide && avx2 {
		sets = append(sets, &avx512Set)
	}
	if avx2 {
		sets = append(sets, &avx2Set)
	}
	return sets
}

var vnniSet = Set{
	name: "avx512-vnni", dot: dotAVX512, dotRows: dotRowsAVX512, dotGather: dotGatherAVX512, dotBlock: dotBlockAVX512,
	codeGather: codeGatherVNNI, spread: spreadAVX2, unpack: unpackAVX2, maxDots: maxDotsVNNI,
}

var avx512Set = Set{
	name: "avx512", dot: dotAVX512, dotRows: dotRowsAVX512, dotGather: dotGatherAVX512, dotBlock: dotBlockAVX512,
	codeGather: codeGatherAVX2, spread: spreadAVX2, unpack: unpackAVX2, maxDots: maxDotsAVX2,
}

var avx2Set = Set{
	name: "avx2", dot: dotAVX2, dotRows: dotRowsAVX2, dotGather: dotGatherAVX2, dotBlock: dotBlockAVX2,
	codeGather: codeGatherAVX2, spread: spreadAVX2, unpack: unpackAVX2, maxDots: maxDotsAVX2,
}

// Prefetch tells the processor to load the first two cache lines of a list, which will be read soon. It panics if the
// list is empty.
func Prefetch(list []byte) { prefetchLines(&list[0]) }
