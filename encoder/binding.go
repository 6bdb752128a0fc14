package encoder

import (
	"context"

	ort "github.com/yalue/onnxruntime_go"
)

// bindable is a session whose inputs can be brought to its device once, for many runs.
type bindable interface {
	CreateIoBinding() (*ort.IoBinding, error)
	RunWithBinding(*ort.IoBinding) error
}

// boundSession is a session with inputs that stay on its device from run to run, such as what a decoder attends to,
// which is the same for every token that it writes. The other inputs, and the outputs, are bound for each run.
// (The inputs and outputs of encoders are few numbers and change with each run: nothing is gained there. The
// library cannot leave an output on the device.)
type boundSession struct {
	session bindable
	binding *ort.IoBinding
	inputs  []string // of each run
	outputs []string
}

// bindInputs returns a session in which the values of the inputs named kept stay on the device from run to run. inputs
// and outputs are the names of those of each run. The caller closes it, and keeps values until then. It fails if the
// device does not take a value.
func bindInputs(
	session bindable, kept []string, values []ort.Value, inputs, outputs []string,
) (_ *boundSession, err error) {
	defer recoverPanic(&err)
	b := &boundSession{session: session, inputs: inputs, outputs: outputs}
	b.binding, err = session.CreateIoBinding()
	if err != nil {
		return nil, err
	}
	for i, name := range kept {
		if err := b.binding.BindInput(name, values[i]); err != nil {
			_ = b.binding.Destroy()
			return nil, err
		}
	}
	return b, nil
}

// run runs the session on the inputs of this run, given in the order of their names, and writes to outputs. It
// fails if ctx has ended before; a run that has begun goes on to its end. A panic of the library becomes the error.
func (b *boundSession) run(ctx context.Context, given []ort.Value, outputs []output) (err error) {
	defer recoverPanic(&err)
	if err := ctx.Err(); err != nil {
		return err
	}
	for i, value := range given {
		if err := b.binding.BindInput(b.inputs[i], value); err != nil {
			return err
		}
	}
	written := make([]ort.Value, 0, len(outputs))
	defer func() {
		b.binding.ClearBoundOutputs() // they are gone with the values below
		destroyValues(written)
	}()
	for i, o := range outputs {
		value, err := ort.NewTensor(o.shape, o.data)
		if err != nil {
			return err
		}
		written = append(written, value)
		if err := b.binding.BindOutput(b.outputs[i], value); err != nil {
			return err
		}
	}
	return b.session.RunWithBinding(b.binding)
}

// close frees what is bound, but not the session.
func (b *boundSession) close() { _ = b.binding.Destroy() }
