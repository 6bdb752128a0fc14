package cli

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	client "example.org/conclave/client/go"
	"example.org/conclave/configs"
	"example.org/conclave/encoder"
	"example.org/conclave/handlers"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/experts"
	"example.org/conclave/internal/indexing"
	"example.org/conclave/internal/provision"
	"example.org/conclave/internal/questions"
	"example.org/conclave/models"
	"example.org/conclave/models/convert"
	"example.org/conclave/search/fault"
	"example.org/conclave/shipped"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
	"example.org/conclave/store/opensearch"
	"example.org/conclave/store/opensearch/schema"
)

// Hints returns advice on an error, one line for each error in its chain that has a hint (hintFor), without
// repetitions. Packages say what is wrong; only these hints name commands and flags. It returns nil if there are none,
// and for a nil error.
func Hints(err error) []string {
	var out []string
	var visit func(error)
	visit = func(err error) {
		if err == nil {
			return
		}
		if line := hintFor(err); line != "" && !slices.Contains(out, line) {
			out = append(out, line)
		}
		switch wrapped := err.(type) {
		case interface{ Unwrap() error }:
			visit(wrapped.Unwrap())
		case interface{ Unwrap() []error }:
			for _, cause := range wrapped.Unwrap() {
				visit(cause)
			}
		}
	}
	visit(err)
	return out
}

// ImportFlags returns advice for users on which flags of `conclave models import` set a setting of a model
// (models.SettingPooling and others). For an unknown setting it names the flags of all settings.
func ImportFlags(setting string) string {
	switch setting {
	case models.SettingPooling:
		return "choose with --pooling cls, mean or pooler; the model's card says which"
	case models.SettingNormalise:
		return "choose with --normalise true or --normalise false"
	case models.SettingPrefix:
		return `choose with --question-prefix and --passage-prefix; "" stands for no prefix`
	}
	return "choose with --pooling, --question-prefix and --passage-prefix; the model's card says what it was trained with"
}

// hintFor returns what to do about an error, by its type, not looking at the errors that it wraps; "" for an error
// without a hint.
func hintFor(err error) string {
	switch e := err.(type) {
	case *folder.Error:
		return collectionHint(e)
	case *shipped.BundleError:
		switch {
		case e.Delta != "":
			return fmt.Sprintf("conclave models import %s, or conclave setup for those that the program ships", e.Delta)
		case e.Made:
			return "conclave setup"
		case e.Folder != "":
			return "conclave models import CHECKPOINT --out " + e.Folder
		}
		return "conclave models import CHECKPOINT, conclave setup for the base encoder and the shipped experts, or name its folder under experts in conclave.yaml"
	case *handlers.AddressInUseError:
		return "choose another port with --listen 127.0.0.1:PORT, or port 0 for any free one; `ss -ltnp` shows which program has this one"
	case *experts.NoBaseError:
		return "conclave index --add-expert " + e.Base + ", and name it under experts in conclave.yaml where that names any"
	case *assembly.TwoLateError:
		return "conclave index --remove-expert " + e.Second
	case *indexing.RoomError:
		return "--collection FOLDER on another disk, or fewer --experts (none takes the least)"
	case *store.WriteError:
		return "with --read-only the collection is searched and not written"
	case *provision.MissingError:
		if e.Provider == encoder.CUDA {
			return "conclave setup --provider cuda"
		}
		return "conclave setup"
	case *encoder.CUDAError:
		if e.Driver {
			return "install NVIDIA's driver, 580 or newer (in a container: run it with the GPU); or encoder.provider: cpu, or auto, which takes the GPU where there is one"
		}
		return "conclave setup --provider cuda; or encoder.provider: cpu"
	case *encoder.EightBitsError:
		return fmt.Sprintf(
			"conclave setup --provider cuda makes %[1]s-fp32 of what is shipped, conclave models import CHECKPOINT --name %[1]s-fp32 of your own; or encoder.provider: cpu",
			e.Name,
		)
	case *experts.NoFullError:
		return fmt.Sprintf(
			"conclave setup --fp32 makes it of what is shipped, conclave models import CHECKPOINT --name %s-fp32 of your own; or encoder.precision: auto",
			e.Name,
		)
	case *experts.UnlikeError:
		return "import both anew from one checkpoint; or index anew with encoder.precision: fp32 and an expert of that bundle"
	case *encoder.RuntimeError:
		return "conclave setup installs it; where the configuration names a library of its own, leave runtime out and conclave setup"
	case *fault.Error:
		switch e.Code {
		case "needs_calibration":
			return "conclave calibrate fits what is missing"
		case "needs_experts":
			return "conclave index --add-expert NAME adds a specialist; those that the program ships have ensembles"
		}
	case *convert.UndecidedError:
		return ImportFlags(e.Setting)
	case *encoder.DoubtError:
		line := ImportFlags(e.Setting)
		if e.Setting == models.SettingPooling && e.Better != "" {
			line = "--pooling " + e.Better
		}
		return line + "; --unchecked takes it as it is"
	case *client.Problem:
		if e.Status == http.StatusUnauthorized {
			return "put the key into the environment as " + configs.VariableKey
		}
	case *schema.FormatError:
		return "conclave index --store ADDRESS-OF-ANOTHER-INDEX --in FILE builds it again"
	case *corpus.HeaderError:
		return "name the columns of the table with --id-column NAME and --text-column NAME"
	case *store.ClashError:
		if e.Stored {
			return "files that were indexed before: add --sync, which takes what changed; passages: --replace; " +
				"other files with the same ids: put --id-prefix TEXT before their --in"
		}
		return "put --id-prefix TEXT before an --in, so that the ids of different files differ"
	}
	switch err {
	case folder.ErrLocked:
		return "if a server has the collection open, index through it: conclave index --url ADDRESS --in DIR --sync"
	case disk.ErrFault:
		return "conclave verify says which file is damaged"
	case opensearch.ErrNoIndex, schema.ErrUnfinished:
		return "conclave index --store ADDRESS --in FILE"
	case opensearch.ErrReadOnly:
		return "name a user or an API key that may write, with cluster.user or cluster.api_key_file in conclave.yaml"
	case shipped.ErrNameTaken:
		return "choose another name with --name, or another folder with --out"
	case questions.ErrDomain:
		return "name the domain of a file with --questions NAME=FILE"
	case corpus.ErrUnknownFormat:
		return fmt.Sprintf("name the format with --format (%s)", strings.Join(corpus.Formats()[1:], ", "))
	}
	return ""
}

// collectionHint returns the command or advice with which a user repairs the fault of a collection, by e.Fault; "" if
// there is none for this fault.
func collectionHint(e *folder.Error) string {
	index := "conclave index --collection " + e.Dir
	again := fmt.Sprintf("%s --remove-expert %s, then --add-expert %[2]s", index, e.Expert)
	switch e.Fault {
	case folder.ErrNotCollection:
		return index + " --in FILE"
	case folder.ErrOtherFormat:
		return "conclave index --collection ANOTHER-FOLDER --in FILE builds it again"
	case folder.ErrNoVectors, folder.ErrNoOwner:
		return index + " --add-expert " + e.Expert
	case folder.ErrHasVectors, folder.ErrIsOwner:
		return index + " --remove-expert " + e.Expert
	case folder.ErrNoEncoder:
		return fmt.Sprintf("name it with --experts, or remove its vectors: %s --remove-expert %s", index, e.Expert)
	case folder.ErrOtherEncoder, folder.ErrDamagedVectors:
		return again
	case folder.ErrLowRecall:
		return again + " with a larger --ef-construction, or with --index flat, which is exact"
	case folder.ErrOtherAnalyser, folder.ErrDamagedWords, folder.ErrOtherWords:
		return index + " --rebuild-words"
	}
	return ""
}

// hintedCause returns a log attribute with an error as two attributes: the error's text, and its hints. It returns
// other attributes, and errors without hints, as they are. It serves as slog.HandlerOptions.ReplaceAttr.
func hintedCause(_ []string, a slog.Attr) slog.Attr {
	err, ok := a.Value.Any().(error)
	if !ok {
		return a
	}
	hints := Hints(err)
	if len(hints) == 0 {
		return a
	}
	return slog.GroupAttrs("", slog.String(a.Key, err.Error()), slog.String("hint", strings.Join(hints, "; ")))
}
