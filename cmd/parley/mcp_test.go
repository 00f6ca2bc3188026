package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/test/fixtures"
)

// demoAgent serves the demo agent and returns its address.
func demoAgent(t *testing.T) string {
	t.Helper()
	srv, err := parley.New(agent.DemoCard(), agent.Demo(), nil)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(srv.Handler())
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- srv.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-ran
		h.CloseClientConnections()
		h.Close()
	})
	return h.URL
}

func callDemo(t *testing.T, transport mcp.Transport) {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "send_message", Arguments: json.RawMessage(`{"message":"echo hello"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if text, ok := res.Content[0].(*mcp.TextContent); !ok || text.Text != "hello" {
		t.Errorf("result %+v", res)
	}
}

// Standard output is the protocol's alone, and the end of standard input is the end.
func TestMCPOverStandardInputAndOutput(t *testing.T) {
	url := demoAgent(t)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	var out, errs bytes.Buffer
	exit := make(chan int, 1)
	go func() {
		exit <- run(t.Context(), []string{"mcp", "-a", url, "--debug"}, inR, io.MultiWriter(&out, outW), &errs)
	}()
	callDemo(t, &mcp.IOTransport{Reader: outR, Writer: inW})
	if code := <-exit; code != 0 {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	for line := range strings.Lines(out.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("on standard output: %q", line)
		}
	}
}

func TestMCPOverHTTP(t *testing.T) {
	url := demoAgent(t)
	ctx, interrupt := context.WithCancel(t.Context())
	errs := new(fixtures.Buffer)
	exit := make(chan int, 1)
	go func() {
		exit <- run(ctx, []string{"mcp", "-a", url, "--http", "127.0.0.1:0"}, strings.NewReader(""), io.Discard, errs)
	}()
	var at []string
	for end := time.Now().Add(10 * time.Second); len(at) == 0 && time.Now().Before(end); <-time.After(5 * time.Millisecond) {
		at = regexp.MustCompile(`http://127\.0\.0\.1:\d+/mcp\n`).FindStringSubmatch(errs.String())
	}
	if len(at) == 0 {
		t.Fatalf("no address: %s", errs)
	}
	callDemo(t, &mcp.StreamableClientTransport{Endpoint: strings.TrimSpace(at[0])})
	interrupt()
	if code := <-exit; code != 0 {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

func TestMCPListensOnThisMachineOnly(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:80", "nowhere"} {
		var errs bytes.Buffer
		if code := run(t.Context(), []string{"mcp", "-a", "127.0.0.1:1", "--http", address}, strings.NewReader(""), io.Discard, &errs); code != 2 {
			t.Errorf("%s: exit code %d: %s", address, code, errs.String())
		}
	}
}

func TestMCPSaysWhatIsWrong(t *testing.T) {
	url := demoAgent(t)
	taken := strings.TrimPrefix(url, "http://")
	for name, c := range map[string]struct {
		args []string
		in   string
		code int
		want []string
	}{
		"a port that is taken": {[]string{"--http", taken}, "", 2, []string{"Error: A2ACLI_ERR_USAGE: " + taken + " is taken", "Hint: stop that program, or choose another port: parley mcp --http 127.0.0.1:0"}},
		"no message of MCP":    {nil, "hello\n", 1, []string{"Error: A2ACLI_ERR_INTERNAL: standard input has no message of MCP: ", "Hint: an MCP client starts parley mcp"}},
		"nothing to read":      {nil, "", 0, nil},
	} {
		var errs bytes.Buffer
		code := run(t.Context(), append([]string{"mcp", "-a", url}, c.args...), strings.NewReader(c.in), io.Discard, &errs)
		if code != c.code {
			t.Errorf("%s: exit code %d: %s", name, code, errs.String())
		}
		for _, want := range c.want {
			if !strings.Contains(errs.String(), want) {
				t.Errorf("%s: no %q in: %s", name, want, errs.String())
			}
		}
	}
}

// TestMCPDocument plays the calls that docs/mcp.md shows; TestReadmeTranscript plays the rest.
func TestMCPDocument(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "mcp.md")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(raw), "<!-- calls: cmd/parley/mcp_test.go -->\n```\n")
	block, _, ok2 := strings.Cut(rest, "```\n")
	if !ok || !ok2 {
		t.Fatal("the calls are not in the document")
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	exit := make(chan int, 1)
	url := demoAgent(t)
	go func() { exit <- run(t.Context(), []string{"mcp", "-a", url}, inR, outW, io.Discard) }()
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: outR, Writer: inW}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	task := ""
	for line := range strings.Lines(block) {
		call, ok := strings.CutPrefix(line, "> ")
		if !ok {
			continue
		}
		got.WriteString(line)
		name, args, _ := strings.Cut(strings.TrimSpace(call), " ")
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{
			Name: name, Arguments: json.RawMessage(strings.ReplaceAll(args, "TASK", task)),
		})
		if err != nil {
			t.Fatal(err)
		}
		if about, ok := res.StructuredContent.(map[string]any); ok {
			if id, ok := about["task_id"].(string); ok {
				task = id
			}
		}
		text := strings.ReplaceAll(mcpText(res), "is submitted and", "is working and") // whichever was quicker
		if task != "" {
			text = strings.ReplaceAll(text, task, "<TASK>")
		}
		got.WriteString(uuids.ReplaceAllString(times.ReplaceAllString(text, "<time>"), "<id>"))
	}
	session.Close()
	if code := <-exit; code != 0 {
		t.Errorf("exit code %d", code)
	}
	switch {
	case got.String() == block:
	case *update:
		doc := strings.Replace(string(raw), "```\n"+block+"```\n", "```\n"+got.String()+"```\n", 1)
		if err := os.WriteFile(file, []byte(doc), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the calls come to\n%s\nthe document says\n%s", got.String(), block)
	}
}

// mcpText shows a result, a line a piece.
func mcpText(res *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range res.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			fmt.Fprintf(&b, "%s\n", c.Text)
		case *mcp.ImageContent:
			fmt.Fprintf(&b, "<image: %s, %d bytes>\n", c.MIMEType, len(c.Data))
		case *mcp.ResourceLink:
			fmt.Fprintf(&b, "<link: %s, %s>\n", c.URI, c.MIMEType)
		}
	}
	if res.IsError {
		b.WriteString("<isError>\n")
	}
	return b.String()
}
