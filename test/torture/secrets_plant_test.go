package torture

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
)

// planter is the transport of a client: it puts secrets into everything that
// is sent, and looks for them in everything that comes back.
type planter struct {
	m    *marks
	key  string // lets requests in; "" where nobody has to
	h1   http.RoundTripper
	h2   http.RoundTripper
	note func(format string, args ...any) // a violation

	honest bool // only requests that are let in

	mu      sync.Mutex // protects the fields below
	rng     *rand.Rand
	planted map[place]int
	errors  int // answers with an error
}

func newPlanter(m *marks, seed uint64, note func(string, ...any)) *planter {
	clear := &http.Transport{Protocols: new(http.Protocols)}
	clear.Protocols.SetUnencryptedHTTP2(true)
	return &planter{
		m: m, h1: &http.Transport{}, h2: clear, note: note,
		rng: rand.New(rand.NewPCG(seed, 5)), planted: map[place]int{},
	}
}

func (p *planter) plants(place place) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.planted[place]++
	return p.m.of(place)
}

func (p *planter) dice(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rng.IntN(n)
}

func (p *planter) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	grpc := strings.HasPrefix(req.Header.Get("Content-Type"), "application/grpc")
	p.plantHeader(req.Header)
	if !grpc {
		q := req.URL.Query()
		q.Set("access_token", p.plants(inQuery))
		req.URL.RawQuery = q.Encode()
	}
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		req.Body.Close()
		if err != nil {
			return nil, err
		}
		if grpc {
			body = p.plantMessage(body)
		} else {
			body = p.plantJSON(body)
		}
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		req.GetBody = nil
	}
	rt := p.h1
	if grpc {
		rt = p.h2
	}
	res, err := rt.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	res.Body = &lookedAt{planter: p, res: res, what: req.Method + " " + req.URL.Path, from: res.Body}
	return res, nil
}

func (p *planter) plantHeader(h http.Header) {
	h.Set("X-Secret", p.plants(inParameter))
	h.Set("Proxy-Authorization", "Bearer "+p.plants(inProxy))
	h.Set("Cookie", "session="+p.plants(inCookie))
	h.Add("A2A-Extensions", "https://example.org/"+p.plants(inExtension))
	if p.key != "" && (p.honest || p.dice(4) > 0) {
		h.Set("X-API-Key", p.key)
		return
	}
	// Wrong ones, or such that nobody asked for.
	switch p.dice(3) {
	case 0:
		h.Set("Authorization", "Bearer "+p.plants(inBearer))
	case 1:
		h.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("ada:"+p.plants(inBasic))))
	default:
		h.Set("X-API-Key", "pk_"+p.plants(inKey))
	}
}

// plantJSON adds a field that nobody knows to each object, and cuts some of the
// documents.
func (p *planter) plantJSON(body []byte) []byte {
	var doc any
	if json.Unmarshal(body, &doc) != nil {
		return body
	}
	var plant func(v any)
	plant = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, w := range v {
				if name != "metadata" && name != "data" { // whose fields are all known: they are what the task is about
					plant(w)
				}
			}
			v["xPassword"] = p.plants(inUnknown)
		case []any:
			for _, w := range v {
				plant(w)
			}
		}
	}
	plant(doc)
	out, err := json.Marshal(doc)
	if err != nil {
		return body
	}
	if !p.honest && p.dice(12) == 0 {
		return out[:len(out)-p.dice(len(out))/2-1]
	}
	return out
}

// plantMessage adds a field that nobody knows to a request over gRPC, and breaks
// some.
func (p *planter) plantMessage(body []byte) []byte {
	if len(body) < 5 {
		return body
	}
	msg := slices.Clone(body[5:])
	msg = protowire.AppendString(protowire.AppendTag(msg, 15000, protowire.BytesType), p.plants(inUnknown))
	if p.dice(12) == 0 {
		msg = msg[:len(msg)-1]
	}
	n := len(msg)
	return append([]byte{0, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, msg...)
}

// lookedAt is the body of an answer. Streams are looked at as they come.
type lookedAt struct {
	*planter
	res  *http.Response
	what string
	from io.ReadCloser
	line []byte // what came since the last end of a line
	done bool
}

func (r *lookedAt) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	r.line = append(r.line, b[:n]...)
	if i := bytes.LastIndexByte(r.line, '\n'); i >= 0 && r.res.Header.Get("Content-Type") == "text/event-stream" {
		r.look(r.line[:i])
		r.line = slices.Clone(r.line[i+1:])
	}
	if err == io.EOF {
		r.end()
	}
	return n, err
}

func (r *lookedAt) Close() error {
	r.end()
	return r.from.Close()
}

func (r *lookedAt) end() {
	if r.done {
		return
	}
	r.done = true
	r.look(r.line)
	for _, h := range []http.Header{r.res.Header, r.res.Trailer} {
		for name, values := range h {
			text := fmt.Sprint(values)
			if name == "Grpc-Status-Details-Bin" {
				for _, v := range values {
					raw, _ := base64.RawStdEncoding.DecodeString(strings.TrimRight(v, "="))
					text += string(raw)
				}
			}
			if found := r.m.in([]byte(text)); len(found) > 0 {
				r.note("%s is answered with %s: of %v", r.what, name, found)
			}
			if name == "Grpc-Status" && text != "[0]" {
				r.failed()
			}
		}
	}
}

func (r *lookedAt) failed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errors++
}

// look judges a part of an answer: an error has no secrets, and other answers
// those of places whose owner may see them.
func (r *lookedAt) look(b []byte) {
	allowed := given
	if r.res.StatusCode >= 400 || bytes.Contains(b, []byte(`"error":{`)) {
		allowed = nil
		r.failed()
	}
	if bad := except(r.m.in(b), allowed); len(bad) > 0 {
		r.note("%s is answered with secrets of %v: %.300s", r.what, bad, b)
	}
}
