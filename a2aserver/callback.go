package a2aserver

import "net/http"

// serveCallback hands a request to the agent of a name. Nobody asks who calls, so a
// callback gets no more than other requests of strangers: its body has a limit in
// size and time and counts among the large ones, and its answer has the time that
// every answer has and counts among those to strangers.
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
