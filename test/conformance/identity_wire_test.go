package conformance

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	iwire "github.com/parley-a2a/parley/internal/wire"
)

// door is one way to ask for an operation.
type door struct {
	version string // A2A-Version; "" sends none
	dialect dialect.Dialect
	binding string
	way     int // of HTTP+JSON, where an operation has several routes
}

func (d door) String() string {
	return fmt.Sprintf("%s %s %d", cmp.Or(d.version, "unversioned"), d.binding, d.way)
}

// doors are all ways to ask for an operation that the tables know. Version 0.1
// comes last: in it clients choose the ids of tasks.
func doors(op dialect.Op) (all []door) {
	for _, version := range []string{"1.0", "1.1", "0.3", "0.2", "", "0.1"} {
		d, ok := dialect.ParseVersion(cmp.Or(version, "0.3"))
		if !ok {
			panic("version " + version + " is not spoken any more")
		}
		for _, binding := range d.Bindings() {
			ways := 0
			switch binding {
			case a2a.BindingJSONRPC:
				if dialect.Get(op).Methods[d] != "" {
					ways = 1
				}
			case a2a.BindingHTTPJSON:
				ways = dialect.RESTWays(d, op)
				if version == "" {
					ways = len(dialect.Get(op).Routes[d]) // the others are of 1.0 then
				}
			case a2a.BindingGRPC:
				if dialect.GRPCOf(d).Method(op) != "" {
					ways = 1
				}
			default:
				panic("nobody knows how to send over " + binding)
			}
			for way := range ways {
				all = append(all, door{version, d, binding, way})
			}
		}
	}
	if op == dialect.GetExtendedAgentCard {
		all = append(all, door{"0.2", dialect.V03, document, 0})
	}
	return all
}

// document is what version 0.2 has in place of an operation: the extended card
// at an address of its own.
const document = "document"

// allVersions fails where the tables have a version that doors does not know.
func allVersions() []string {
	var missing []string
	for _, v := range dialect.Versions {
		if !slices.ContainsFunc(doors(dialect.SendMessage), func(d door) bool { return d.version == v }) {
			missing = append(missing, v)
		}
	}
	return missing
}

// reply is what came back, and what the store was asked for.
type reply struct {
	ok    bool // it is a result and no error
	head  string
	body  string // as JSON, of gRPC, too
	calls string // of the store
}

func (r *reply) String() string { return r.head + "\n" + r.body }

// visitor sends requests as one caller.
type visitor struct {
	url    string
	at     string // the path of the agent
	header map[string]string
	plain  *http.Client // of HTTP/1.1
	h2     *http.Client // of gRPC
}

// call asks for an operation through a door. tag is told to the store.
func (v *visitor) call(ctx context.Context, d door, op dialect.Op, p probe, tag string) (*reply, error) {
	method, path, media, accept := http.MethodPost, "/", "application/json", "application/json"
	client := v.plain
	if dialect.Get(op).Streams {
		accept = "text/event-stream, application/json"
	}
	var body []byte
	switch d.binding {
	case a2a.BindingJSONRPC:
		params := dialect.CodecOf(d.dialect, d.binding).AppendRequest(nil, op, p.req)
		body = iwire.AppendRequest(nil, []byte("1"), dialect.Get(op).Methods[d.dialect], params)
	case a2a.BindingHTTPJSON:
		call, err := dialect.BuildREST(d.dialect, op, d.way, p.req)
		if err != nil {
			return nil, err
		}
		method, path, body = call.Method, call.Path, call.Body
		if call.Query != "" {
			path += "?" + call.Query
		}
	case document:
		method, path = http.MethodGet, "/agent/authenticatedExtendedCard"
	case a2a.BindingGRPC:
		form := dialect.GRPCOf(d.dialect)
		if v.at != "" { // gRPC has no paths
			tenant := reflect.ValueOf(p.req).Elem().FieldByName("Tenant")
			tenant.SetString(strings.TrimSuffix(v.at[1:]+"/"+tenant.String(), "/"))
		}
		m, err := form.Request(op, p.req)
		if err != nil {
			return nil, err
		}
		msg, err := proto.Marshal(m)
		if err != nil {
			return nil, err
		}
		path, media, client = "/"+form.Service()+"/"+form.Method(op), "application/grpc+proto", v.h2
		body = iwire.AppendMessage(nil, msg)
	}
	if d.binding != a2a.BindingGRPC {
		path = v.at + path
	}
	req, err := http.NewRequestWithContext(ctx, method, v.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", media)
	}
	req.Header.Set("Accept", accept)
	if d.version != "" {
		req.Header.Set("A2A-Version", d.version)
	}
	req.Header.Set("A2A-Extensions", tag)
	req.Header.Set("User-Agent", "probe")
	if d.binding == a2a.BindingGRPC {
		req.Header.Set("TE", "trailers")
	}
	for _, header := range []map[string]string{v.header, p.header} {
		for name, value := range header {
			req.Header.Set(name, value)
		}
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, fmt.Errorf("the answer broke off after %q: %w", raw, err)
	}
	r := &reply{}
	r.ok = res.StatusCode == http.StatusOK
	text := string(raw)
	switch d.binding {
	case a2a.BindingGRPC:
		status := cmp.Or(res.Trailer.Get("Grpc-Status"), res.Header.Get("Grpc-Status"))
		r.ok = r.ok && status == "0"
		if text, err = messages(dialect.GRPCOf(d.dialect), op, raw); err != nil {
			return nil, err
		}
	default:
		r.ok = r.ok && !strings.Contains(text, `"error":{`) && !strings.Contains(text, "event: error")
	}
	head := []string{res.Proto, res.Status}
	for i, h := range []http.Header{res.Header, res.Trailer} {
		for _, name := range slices.Sorted(maps.Keys(h)) {
			if name != "Date" && (name != "Content-Length" || !r.ok) {
				head = append(head, fmt.Sprintf("%d %s: %q", i, name, details(name, h[name])))
			}
		}
	}
	r.head, r.body = strings.Join(head, "\n"), text
	return r, nil
}

// messages returns the messages of a gRPC body as JSON.
func messages(form dialect.GRPC, op dialect.Op, raw []byte) (string, error) {
	var text strings.Builder
	in := iwire.NewMessageReader(bytes.NewReader(raw), 1<<20)
	for {
		msg, err := in.Next()
		if err == io.EOF {
			return text.String(), nil
		}
		if err != nil {
			return "", err
		}
		m := form.NewResult(op)
		if err := proto.Unmarshal(msg, m); err != nil {
			return "", err
		}
		doc, err := protojson.Marshal(m)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "%s %x\n", doc, []byte(m.ProtoReflect().GetUnknown()))
	}
}

// details makes names readable that a header has in another form.
func details(name string, values []string) []string {
	var out []string
	for _, v := range values {
		if name == "Grpc-Status-Details-Bin" {
			b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(v, "="))
			st := new(statuspb.Status)
			if err == nil && proto.Unmarshal(b, st) == nil {
				if doc, err := protojson.Marshal(st); err == nil {
					v = string(doc)
				}
			}
		}
		if plain, err := url.PathUnescape(v); err == nil {
			v = plain
		}
		out = append(out, v)
	}
	return out
}

var (
	timestamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)
	someUUID  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	someToken = regexp.MustCompile(`("nextPageToken": ?)"[^"]+"`)
)

// anonymous takes off an answer what is new in each: ids that the server made,
// and times.
func anonymous(text string) string {
	text = timestamp.ReplaceAllString(text, "<time>")
	text = someToken.ReplaceAllString(text, `$1"<page>"`)
	return someUUID.ReplaceAllString(text, "<uuid>")
}

// passing are words that the answer to a message may have or not, depending on
// when it was looked at.
var passing = map[string]bool{
	"TASK_STATE_SUBMITTED": true, "TASK_STATE_WORKING": true, "submitted": true, "working": true,
	"task": true, "status-update": true,
}

// gist is what of an answer does not depend on how fast an agent is: its texts,
// without repeats.
func gist(text string) string {
	found := map[string]bool{}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			if v != "" && !passing[v] {
				found[v] = true
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "data: ")
		if !strings.HasPrefix(line, "{") {
			continue
		}
		var v any
		if err := json.NewDecoder(strings.NewReader(line)).Decode(&v); err == nil {
			walk(v)
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), "\n")
}
