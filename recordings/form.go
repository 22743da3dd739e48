package recordings

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"

	"github.com/stenometer/stenometer/problems"
)

// The bounds of a form beside its file.
const (
	// maxFieldBytes bounds the names and values of all fields together.
	maxFieldBytes = 1 << 20
	// maxParts bounds the number of parts, the file included: a hundred tags and every other field find room.
	maxParts = 150
	// maxFramingBytes is what boundaries and part headers may take beyond the fields: a part's headers alone may
	// be ten megabytes as far as mime/multipart is concerned.
	maxFramingBytes = 256 << 10
)

// form is what stood in a multipart form beside the file. Of a field sent twice the first counts.
type form map[string]string

// text is a field without the white space around it.
func (f form) text(name string) string { return strings.TrimSpace(f[name]) }

// filePart is the file of a form: the name that the client gave it, as sent, and its bytes, readable until the
// receiver returns.
type filePart struct {
	name string
	io.Reader
}

// readForm reads a multipart form part by part from source, and nothing more of it once it is refused. The part
// named "file" that has a file name goes to receive, with the fields that came before it; everything else is a
// field, whatever it claims to be, so that only one part of a form can be large.
func readForm(source io.Reader, boundary string, receive func(filePart, form) error) (form, error) {
	meter := &meter{source: source, left: maxFieldBytes + maxFramingBytes}
	parts := multipart.NewReader(meter, boundary)
	fields := form{}
	fieldBytes, files := 0, 0
	for n := 0; ; n++ {
		part, err := parts.NextRawPart()
		if err == io.EOF { //nolint:errorlint // a wrapped EOF is a body that was cut short
			return fields, meter.drain()
		}
		if err != nil {
			return nil, meter.explain(err)
		}
		if n == maxParts {
			return nil, problems.New(problems.PayloadTooLarge, "The form has more than %d parts.", maxParts).
				With("max_parts", maxParts)
		}
		name, fileName, isFile, err := disposition(part)
		if err != nil {
			return nil, err
		}
		if isFile && name == "file" {
			if files++; files > 1 {
				return nil, problems.New(problems.InvalidParameter, "The form has more than one part named \"file\".").With("field", "file")
			}
			if err := meter.file(filePart{fileName, part}, fields, receive); err != nil {
				return nil, err
			}
			continue
		}
		value, err := io.ReadAll(io.LimitReader(part, int64(maxFieldBytes-fieldBytes)+1))
		if err != nil {
			return nil, meter.explain(err)
		}
		if fieldBytes += len(name) + len(value); fieldBytes > maxFieldBytes {
			return nil, formTooLarge()
		}
		if _, sent := fields[name]; !sent {
			fields[name] = string(value)
		}
	}
}

// disposition reads a part's name, its file name and whether it has one.
func disposition(part *multipart.Part) (name, fileName string, isFile bool, err error) {
	kind, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil || kind != "form-data" || params["name"] == "" {
		return "", "", false, problems.New(problems.BadRequest,
			"A part of the form has no readable Content-Disposition with a name.").Because(err)
	}
	fileName, isFile = params["filename"]
	return params["name"], fileName, isFile, nil
}

// meter bounds what a form may cost beside its file, and remembers why the source ended.
type meter struct {
	source io.Reader
	left   int64
	inFile bool
	err    error
}

func (m *meter) Read(p []byte) (int, error) {
	if m.left < 0 {
		m.err = formTooLarge()
		return 0, m.err
	}
	n, err := m.source.Read(p)
	if !m.inFile {
		m.left -= int64(n)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		m.err = err
	}
	return n, err
}

// file hands the file over. A request whose body failed is given up by net/http, with all that works for it: why the body
// failed is the answer then, and not that.
func (m *meter) file(part filePart, before form, receive func(filePart, form) error) error {
	m.inFile = true
	defer func() { m.inFile = false }()
	part.Reader = explained{part.Reader, m}
	err := receive(part, before)
	if m.err != nil && errors.Is(err, context.Canceled) {
		return m.explain(err)
	}
	return err
}

// drain reads what follows the form to the end of the body, within the bound. A body that breaks off there is not what its
// sender declared: whoever took it would work in a request whose connection is lost.
func (m *meter) drain() error {
	if _, err := io.Copy(io.Discard, m); err != nil || m.err != nil {
		return m.explain(err)
	}
	return nil
}

// explain turns a failure of reading the form into its problem: the source's own, or a form that is not one.
func (m *meter) explain(err error) error {
	var tooLarge *http.MaxBytesError
	var problem *problems.Error
	switch {
	case errors.As(m.err, &problem):
		return problem
	case errors.As(m.err, &tooLarge):
		return problems.New(problems.PayloadTooLarge, "The body is larger than %d bytes.", tooLarge.Limit)
	case m.err != nil:
		return problems.New(problems.BadRequest, "The body could not be read to its end.").Because(m.err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return problems.New(problems.BadRequest, "The body ends before the form does.").Because(err)
	default:
		return problems.New(problems.BadRequest, "The body is not a well-formed multipart form.").Because(err)
	}
}

// explained gives the reader of the file the problem instead of the bare error.
type explained struct {
	io.Reader
	meter *meter
}

func (e explained) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // a wrapped EOF is a file that was cut short
		err = e.meter.explain(err)
	}
	return n, err
}

func formTooLarge() *problems.Error {
	return problems.New(problems.PayloadTooLarge, "The form's fields are larger than %d bytes together.", maxFieldBytes).
		With("max_field_bytes", maxFieldBytes)
}
