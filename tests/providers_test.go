package tests

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// How a provider is reached: the configuration's addresses and keys go into the options of an engine, and nowhere else;
// so do the HTTP clients that may go to such addresses. Engines exist where they are made and in their own package,
// which asks them in one place: there the money is held before and settled after, which the tests of llm and speech
// show. Whoever has neither an address, nor a client, nor an engine reaches no provider.
var (
	// providerSettings are the fields of the configuration that a provider is reached by.
	providerSettings = []string{"TextModelBaseURL", "TextModelAPIKey", "TranscriptionBaseURL", "TranscriptionAPIKey", "ASRBaseURL"}
	// engineOptions are the only values that these and clients may go into.
	engineOptions = []string{"llm.Options", "speech.Options", "oidc.Options"}
	// engineWords make an engine, hold one or put one to work; only server may say them.
	engineWords = []string{"llm.New", "llm.Engine", "llm.NewAdapter", "speech.New", "speech.Engine", "speech.NewTranscriber"}
	// engineAsked are the methods that call a provider, and the one file of the product that says each of an engine.
	engineAsked = map[string]string{"Complete": "llm/adapter.go", "StreamCompletion": "llm/stream.go", "Transcribe": "speech/paid.go"}
	// wires are words by which one could do without all of the above, and who may say them.
	wires = map[string][]string{
		"http.NewRequest": {"outbound"}, "http.NewRequestWithContext": {"outbound", "speech", "webhooks", "recordings/importwork.go", "server/democlient.go"},
		"http.Get": nil, "http.Head": nil, "http.Post": nil, "http.PostForm": nil, "http.DefaultClient": nil, "http.DefaultTransport": nil,
		"net.Dial": nil, "net.DialTimeout": nil, "net.DialTCP": nil, "net.Dialer": {"outbound"}, "tls.Dial": nil, "tls.Dialer": nil,
		"rpc.Dial": nil, "httputil.ReverseProxy": nil, "httputil.NewSingleHostReverseProxy": nil,
	}
)

// TestProvidersAreReachedByTheirAdaptersOnly finds every other way to a speech or text service in the tree.
func TestProvidersAreReachedByTheirAdaptersOnly(t *testing.T) {
	t.Parallel()
	asked := map[string]int{}
	walkRepository(t, func(name string) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || within(filepath.Dir(name), testPackages) {
			return
		}
		faults, asks := waysToProviders(name, readFile(t, name))
		for _, fault := range faults {
			t.Error(fault)
		}
		for _, method := range asks {
			asked[method]++
		}
	})
	for method, file := range engineAsked {
		if asked[method] != 1 {
			t.Errorf("%s asks engines to %s in %d places; in one the money is held", file, method, asked[method])
		}
	}
}

// waysToProviders are the faults of one file of the product, and the engines' methods that it calls where it may.
func waysToProviders(name string, source []byte) (faults, asks []string) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}, nil
	}
	w := &wayCheck{name: name, pkg: path.Dir(name), files: files, packages: map[string]string{}, inOptions: map[ast.Node]bool{}}
	for _, spec := range parsed.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		as := path.Base(imported)
		if spec.Name != nil {
			as = spec.Name.Name
		}
		w.packages[as] = path.Base(imported)
	}
	ast.Inspect(parsed, w.visit)
	return w.faults, w.asks
}

type wayCheck struct {
	name, pkg    string
	files        *token.FileSet
	packages     map[string]string // by the name under which the file imports them
	inOptions    map[ast.Node]bool // what stands in an engine's options
	faults, asks []string
}

func (w *wayCheck) visit(node ast.Node) bool {
	switch node := node.(type) {
	case *ast.CompositeLit:
		made, isSelector := node.Type.(*ast.SelectorExpr)
		if isSelector && w.pkg == "server" && slices.Contains(engineOptions, w.word(made)) {
			ast.Inspect(node, func(inner ast.Node) bool {
				w.inOptions[inner] = true
				return true
			})
		}
	case *ast.SelectorExpr:
		w.judge(node)
	}
	return true
}

// word is "package.Name", or "" of what is no package's.
func (w *wayCheck) word(selector *ast.SelectorExpr) string {
	if of, ok := selector.X.(*ast.Ident); ok && w.packages[of.Name] != "" {
		return w.packages[of.Name] + "." + selector.Sel.Name
	}
	return ""
}

func (w *wayCheck) judge(node *ast.SelectorExpr) {
	word, name := w.word(node), node.Sel.Name
	wire, isWire := wires[word]
	switch {
	case word == "outbound.Operator" && !w.inOptions[node]:
		w.fault(node, "a client for the operator's services goes into an engine's options, made in server")
	case slices.Contains(providerSettings, name) && !w.inOptions[node] && w.pkg != "config" && w.pkg != "speech":
		w.fault(node, "%s goes into an engine's options, made in server", name)
	case slices.Contains(engineWords, word) && w.pkg != "server":
		w.fault(node, "%s: engines belong to server, where they are made, and to their own package", word)
	case isWire && !within(w.name, wire):
		w.fault(node, "%s is a way to any address: %s may say it", word, orNothing(wire))
	case engineAsked[name] == w.name:
		w.asks = append(w.asks, name)
	case name == "Complete", name == "StreamCompletion", name == "Transcribe" && (w.pkg == "speech" || w.pkg == "server"):
		w.fault(node, "an engine is asked to %s in %s alone, where the money is held", name, engineAsked[name])
	}
}

func (w *wayCheck) fault(node ast.Node, format string, args ...any) {
	w.faults = append(w.faults, fmt.Sprintf("%s:%d: %s", w.name, w.files.Position(node.Pos()).Line, fmt.Sprintf(format, args...)))
}

// TestWaysToProvidersAreFound is the proof that the check above can fail.
func TestWaysToProvidersAreFound(t *testing.T) {
	t.Parallel()
	importing := func(imported, body string) string { return "package x\nimport \"" + imported + "\"\n" + body + "\n" }
	for _, c := range []struct{ file, source, want string }{
		{"recordings/x.go", importing(module+"/outbound", "var c = outbound.Operator(1)"), "recordings/x.go:3: a client for the operator's services"},
		{"server/x.go", importing(module+"/outbound", "var c = outbound.Operator(1)"), "server/x.go:3: a client for"},
		{"llm/x.go", importing(module+"/outbound", "var c = outbound.Operator(1)"), "a client for"},
		{"server/x.go", "package server\nfunc f(c config) string { return c.TextModelAPIKey.Reveal() }\n", "TextModelAPIKey goes into"},
		{"api/v1/x.go", "package v1\nfunc f(c config) string { return c.ASRBaseURL.Reveal() }\n", "ASRBaseURL goes into"},
		{"recordings/x.go", importing(module+"/llm", "var e, _ = llm.New(llm.Options{})"), "llm.New: engines belong"},
		{"api/v1/x.go", importing(module+"/speech", "type a struct { e speech.Engine }"), "speech.Engine: engines belong"},
		{"recordings/x.go", "package x\nimport model \"" + module + "/llm\"\nvar e model.Engine\n", "llm.Engine: engines belong"},
		{"server/x.go", "package server\nfunc f() { engine.Complete(ctx, request) }\n", "to Complete in llm/adapter.go alone"},
		{"llm/work.go", "package llm\nfunc f() { w.adapter.engine.Complete(ctx, request) }\n", "to Complete in llm/adapter.go alone"},
		{"recordings/x.go", "package x\nfunc f() { engine.StreamCompletion(ctx, request, to) }\n", "to StreamCompletion in llm/stream.go alone"},
		{"recordings/x.go", "package x\nfunc f() { ask := e.Complete; ask() }\n", "to Complete in llm/adapter.go alone"},
		{"server/x.go", "package server\nfunc f() { engine.Transcribe(ctx, audio, request) }\n", "to Transcribe in speech/paid.go alone"},
		{"speech/parts.go", "package speech\nfunc f() { w.engine.Transcribe(ctx, audio, request) }\n", "to Transcribe in speech/paid.go alone"},
		{"recordings/x.go", importing("net/http", "var r, _ = http.NewRequest(\"POST\", \"\", nil)"), "http.NewRequest is a way"},
		{"llm/x.go", importing("net/http", "var r, _ = http.NewRequestWithContext(nil, \"POST\", \"\", nil)"), "is a way to any address"},
		{"web/x.go", importing("net/http", "var c = http.DefaultClient"), "is a way to any address"},
		{"jobs/x.go", importing("net", "var d net.Dialer"), "outbound may say it"},
		{"server/x.go", importing("crypto/tls", "var c, _ = tls.Dial(\"\", \"\", nil)"), "nothing may say it"},
	} {
		faults, _ := waysToProviders(c.file, []byte(c.source))
		if !slices.ContainsFunc(faults, func(fault string) bool { return strings.Contains(fault, c.want) }) {
			t.Errorf("%s with\n%s\nfound %q, want a fault with %q", c.file, c.source, faults, c.want)
		}
	}
	good := importing(module+"/llm", "func f(c config) llm.Options { return llm.Options{APIKey: c.TextModelAPIKey.Reveal()} }")
	if faults, _ := waysToProviders("server/x.go", []byte(good)); len(faults) != 0 {
		t.Errorf("found %q in\n%s", faults, good)
	}
}
