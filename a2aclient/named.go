package a2aclient

import "net/http"

// Named returns a transport for other addresses that the card names, such as those of
// its security schemes. They are judged as those of its interfaces are: see
// Options.AnyAddress. Nothing is added to a request.
func (c *Client) Named() http.RoundTripper { return named{c} }

type named struct{ c *Client }

func (n named) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, _ := n.c.opts.leave(req.Context(), n.c.from)
	return n.c.http.Transport.RoundTrip(req.WithContext(ctx))
}
