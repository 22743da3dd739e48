package recordings

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/textproto"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stenometer/stenometer/problems"
)

const boundary = "frontier"

// part writes a part with a Content-Disposition as given.
func part(t testing.TB, w *multipart.Writer, disposition, content string) {
	t.Helper()
	to, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {disposition}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(to, content); err != nil {
		t.Fatal(err)
	}
}

// formOf makes a form of dispositions and contents, in turn.
func formOf(t testing.TB, parts ...string) *bytes.Buffer {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	if err := w.SetBoundary(boundary); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(parts); i += 2 {
		part(t, w, parts[i], parts[i+1])
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &body
}

// readAll reads a form and the bytes of its file.
func readAll(body io.Reader) (fields form, name, file string, err error) {
	fields, err = readForm(body, boundary, func(p filePart, _ form) error {
		name = p.name
		content, err := io.ReadAll(p)
		file = string(content)
		return err
	})
	return fields, name, file, err
}

func kindOf(t testing.TB, err error) problems.Kind {
	t.Helper()
	var problem *problems.Error
	if !errors.As(err, &problem) {
		t.Fatalf("got error %v, want a problem", err)
	}
	return problem.Kind
}

// Fields count wherever they stand (H-058), of a field sent twice the first, and a part is the file only by its
// name and a file name.
func TestFieldsBeforeAndAfterTheFile(t *testing.T) {
	t.Parallel()
	const title, file, language = `form-data; name="title"`, `form-data; name="file"; filename="a.wav"`, `form-data; name="language"`
	for name, parts := range map[string][]string{
		"before": {title, "A", language, "de", file, "sound"},
		"after":  {file, "sound", title, "A", language, "de"},
		"around": {title, "A", file, "sound", language, "de"},
		"twice":  {title, "A", title, "B", language, "de", file, "sound"},
		"other":  {`form-data; name="audio"; filename="b.wav"`, "x", title, "A", language, "de", file, "sound"},
	} {
		t.Run(name, func(t *testing.T) {
			fields, fileName, content, err := readAll(formOf(t, parts...))
			if err != nil {
				t.Fatal(err)
			}
			if fields["title"] != "A" || fields["language"] != "de" || fileName != "a.wav" || content != "sound" {
				t.Errorf("got fields %v, file %q with %q", fields, fileName, content)
			}
		})
	}
}

func TestFormBounds(t *testing.T) {
	t.Parallel()
	field := func(n int) []string {
		return []string{fmt.Sprintf(`form-data; name="f%d"`, n), "x"}
	}
	var many, most []string
	for n := range maxParts + 1 {
		many = append(many, field(n)...)
		if n < maxParts {
			most = append(most, field(n)...)
		}
	}
	large := strings.Repeat("x", maxFieldBytes)
	for name, test := range map[string]struct {
		body io.Reader
		want problems.Kind
	}{
		"as many parts as allowed": {formOf(t, most...), problems.Kind{}},
		"one part more":            {formOf(t, many...), problems.PayloadTooLarge},
		"fields as large":          {formOf(t, `form-data; name="n"`, large[1:]), problems.Kind{}},
		"one byte more":            {formOf(t, `form-data; name="n"`, large), problems.PayloadTooLarge},
		"a large file by another name": {
			formOf(t, `form-data; name="other"; filename="x"`, large), problems.PayloadTooLarge,
		},
		"endless part headers": {
			io.MultiReader(strings.NewReader("--"+boundary+"\r\nX: "), endless{}), problems.PayloadTooLarge,
		},
		"an endless preamble": {endless{}, problems.BadRequest},
		"two files": {
			formOf(t, `form-data; name="file"; filename="a"`, "x", `form-data; name="file"; filename="b"`, "y"), problems.InvalidParameter,
		},
		"a part without a name":    {formOf(t, `form-data; filename="a"`, "x"), problems.BadRequest},
		"cut short in the file":    {strings.NewReader("--" + boundary + "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nxx"), problems.BadRequest},
		"cut short between parts":  {strings.NewReader("--" + boundary + "\r\nContent-Disposition: form-data; name=\"t\"\r\n\r\nxx\r\n--" + boundary), problems.BadRequest},
		"nothing":                  {strings.NewReader(""), problems.BadRequest},
		"another boundary":         {strings.NewReader("--other\r\n\r\n--other--"), problems.BadRequest},
		"the source's own problem": {failing{problems.New(problems.RequestTimeout, "slow")}, problems.RequestTimeout},
		"a broken connection":      {failing{errors.New("reset")}, problems.BadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, _, err := readAll(test.body)
			if test.want == (problems.Kind{}) {
				if err != nil {
					t.Fatalf("got %v, want it read", err)
				}
				return
			}
			if got := kindOf(t, err); got != test.want {
				t.Errorf("got %s (%v), want %s", got.Code(), err, test.want.Code())
			}
		})
	}
}

// A refused file stops the reading: hardly more than what the receiver took is read from the client.
func TestARefusedFileIsNotReadFurther(t *testing.T) {
	t.Parallel()
	source := &counting{Reader: io.MultiReader(
		strings.NewReader("--"+boundary+"\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n"), endless{})}
	refusal := problems.New(problems.PayloadTooLarge, "enough")
	_, err := readForm(source, boundary, func(p filePart, _ form) error {
		if _, err := io.CopyN(io.Discard, p, 1<<20); err != nil {
			t.Error(err)
		}
		return refusal
	})
	if !errors.Is(err, refusal) {
		t.Fatalf("got %v, want the receiver's refusal", err)
	}
	if source.n > 1<<20+64<<10 {
		t.Errorf("%d bytes were read for a file refused after %d", source.n, 1<<20)
	}
}

// Rule: a form whose body breaks off after it is refused with why, and so is what does not end: its sender declared more
// than came. What a sender adds behind the form is not read as anything.
func TestAFormIsReadToTheEndOfItsBody(t *testing.T) {
	t.Parallel()
	parts := []string{`form-data; name="file"; filename="a.wav"`, "sound", `form-data; name="title"`, "A"}
	fields, _, content, err := readAll(io.MultiReader(formOf(t, parts...), strings.NewReader("the epilogue")))
	if err != nil || fields["title"] != "A" || content != "sound" {
		t.Errorf("with an epilogue: %v, %q, %v", fields, content, err)
	}
	late := problems.New(problems.RequestTimeout, "too slow")
	if _, _, _, err := readAll(io.MultiReader(formOf(t, parts...), iotest.ErrReader(late))); !errors.Is(err, late) {
		t.Errorf("broken off behind the form: %v", err)
	}
	together := func() io.Reader {
		return iotest.DataErrReader(io.MultiReader(formOf(t, parts...), iotest.ErrReader(late)))
	}
	if _, _, _, err := readAll(together()); !errors.Is(err, late) {
		t.Errorf("broken off with its last bytes: %v", err)
	}
	_, err = readForm(together(), boundary, func(p filePart, _ form) error {
		_, err := io.Copy(io.Discard, p)
		return errors.Join(err, context.Canceled) // as of work that was given up with the request
	})
	if !errors.Is(err, late) {
		t.Errorf("given up for it: %v", err)
	}
	if _, _, _, err := readAll(io.MultiReader(formOf(t, parts...), endless{})); kindOf(t, err) != problems.PayloadTooLarge {
		t.Errorf("without an end: %v", err)
	}
}

// Whatever bytes arrive, reading ends, holds its bounds, and a failure is a problem with an answer.
func FuzzReadForm(f *testing.F) {
	f.Add(formOf(f, `form-data; name="title"`, "A", `form-data; name="file"; filename="a.wav"`, "sound").Bytes())
	f.Add([]byte("--" + boundary + "\r\nContent-Disposition: form-data; name=\"file\"; filename*=UTF-8''%e4%bc%9a\r\n\r\nx\r\n--" + boundary + "--\r\n"))
	f.Add([]byte("--" + boundary + "\r\n\r\n\r\n--" + boundary + "--"))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, body []byte) {
		fields, name, _, err := readAll(bytes.NewReader(body))
		if err != nil {
			var problem *problems.Error
			if !errors.As(err, &problem) || problem.Kind.Status() >= 500 {
				t.Fatalf("got %v, want a problem of the caller's", err)
			}
			return
		}
		total := 0
		for field, value := range fields {
			total += len(field) + len(value)
		}
		if total > maxFieldBytes || len(fields) > maxParts {
			t.Fatalf("%d fields of %d bytes were read", len(fields), total)
		}
		if said, err := readAbout("", fields); err == nil && len([]rune(said.title)) > maxTitle {
			t.Fatalf("a title of %d characters was accepted", len([]rune(said.title)))
		}
		if shown := label(name); shown == "" || len([]rune(shown)) > maxLabelRunes || strings.ContainsAny(shown, "/\\\r\n\x00\u202e") {
			t.Fatalf("the label of %q is %q", name, shown)
		}
	})
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

type counting struct {
	io.Reader
	n int64
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}
