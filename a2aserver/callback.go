package a2aserver

import "net/http"

// serveCallback passes a request to an agent's callback handler. Callers of callbacks
// are not identified, so a callback gets no more than any anonymous request: its body
// is limited in size and time and counts among the large bodies, and its answer is
// limited in time like all answers and counts among those to strangers.
func (t *table) serveCallback(c http.Handler, w http.ResponseWriter, r *http.Request) {
	limitBody(w, r)
	s := t.root
	out := s.strangers.Writer(w, s.opts.writeTimeout(), s.strangerOf(r))
	defer out.Leave()
	most := s.opts.maxBody()
	r.Body = http.MaxBytesReader(w, r.Body, most)
	r, done := s.holdBody(w, r, most, true)
	defer done()
	c.ServeHTTP(out, r)
	out.End()
}
