package openaitest

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Server is the endpoint, a handler for any path that ends in /chat/completions.
type Server struct {
	// Key is the bearer token that requests must have. Empty: not checked.
	Key string
	// Refuse names members of requests that this endpoint does not know, such as
	// stream_options. With json_schema or json_object it only refuses that type of
	// response_format. With max_tokens it requires max_completion_tokens, as OpenAI's
	// newer models do.
	Refuse []string

	mu       sync.Mutex // protects the fields below
	answers  []Answer
	requests []Request
}

// Request is a request that was accepted.
type Request struct {
	Header http.Header
	Query  string
	Body   map[string]any
}

// New returns an endpoint that gives these answers, in this order, and then
// echoes: it answers with the text of the last message, word by word.
func New(answers ...Answer) *Server { return &Server{answers: answers} }

// Add appends answers to the queue.
func (s *Server) Add(answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = append(s.answers, answers...)
}

// Requests returns the accepted requests, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// maxBody is how large a request may be, in bytes.
const maxBody = 64 << 20

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if bad := s.checkHead(r); bad != nil {
		bad.write(w)
		return
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return
	}
	var body map[string]any
	if err := json.Unmarshal(raw, &body); err != nil {
		invalid("", "We could not parse the JSON body of your request.").write(w)
		return
	}
	if bad := s.check(body); bad != nil {
		bad.write(w)
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, Request{r.Header.Clone(), r.URL.RawQuery, body})
	var a Answer
	if len(s.answers) > 0 {
		a = s.answers[0]
		s.answers = s.answers[1:]
	} else {
		a = echo(body)
	}
	s.mu.Unlock()
	a.play(w, r)
}

// checkHead checks everything but the body.
func (s *Server) checkHead(r *http.Request) *refusal {
	switch {
	case !strings.HasSuffix(r.URL.Path, "/chat/completions"):
		return &refusal{Status: 404, Type: "invalid_request_error", Message: "Invalid URL (" + r.Method + " " + r.URL.Path + ")"}
	case r.Method != http.MethodPost:
		return &refusal{Status: 405, Type: "invalid_request_error", Message: "Not allowed to " + r.Method + " on /v1/chat/completions."}
	case s.Key != "" && r.Header.Get("Authorization") != "Bearer "+s.Key:
		return &refusal{Status: 401, Type: "invalid_request_error", Code: "invalid_api_key",
			Message: "Incorrect API key provided: " + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") + "."}
	case !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		return &refusal{Status: 415, Type: "invalid_request_error", Message: "Unsupported Media Type. Please use Content-Type: application/json."}
	}
	return nil
}

// refusal is an error in the API's form.
type refusal struct {
	Status  int    `json:"-"`
	Message string `json:"message"`
	Type    string `json:"type"`
	Param   string `json:"param,omitempty"`
	Code    string `json:"code,omitempty"`
}

func (e *refusal) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": e}) // the client may have left
}

func invalid(param, message string) *refusal {
	return &refusal{Status: 400, Type: "invalid_request_error", Param: param, Message: message}
}

// pause waits, and returns false if the client leaves first.
func pause(r *http.Request, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-r.Context().Done():
		return false
	}
}
