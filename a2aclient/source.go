package a2aclient

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/egress"
)

// Source is where a document came from that names agents, such as a catalog. It says
// where they may be: see Options.From. It can be kept, as text.
type Source struct{ s source }

var reaches = map[egress.Reach]string{egress.Anywhere: "anywhere", egress.Network: "network", egress.Internet: "internet"}

// MarshalText returns a form for UnmarshalText.
func (s *Source) MarshalText() ([]byte, error) {
	home := ""
	if s.s.home != nil {
		home = s.s.home.Scheme + "://" + s.s.home.Host
	}
	return fmt.Appendf(nil, "%s %t %s", reaches[s.s.reach], s.s.secure, home), nil
}

// UnmarshalText reads what MarshalText wrote.
func (s *Source) UnmarshalText(text []byte) error {
	words := strings.Split(string(text), " ")
	if len(words) == 3 {
		for reach, name := range reaches {
			home, err := url.Parse(words[2])
			if name != words[0] || err != nil || words[1] != "true" && words[1] != "false" {
				continue
			}
			s.s = source{reach: reach, secure: words[1] == "true"}
			if words[2] != "" {
				s.s.home = home
			}
			return nil
		}
	}
	return errors.New("not a source")
}

func (s *Source) orNil() *source {
	if s == nil {
		return nil
	}
	return &s.s
}

// Document fetches a JSON document, 1 MiB at most, from an http or https URL, as
// Resolve fetches cards, and says where it came from. The error is a *CardError, or
// the context's.
func (r *Resolver) Document(ctx context.Context, at string) ([]byte, *Source, error) {
	u := a2a.WebURL(at)
	if u == nil {
		return nil, nil, &CardError{Ref: printable(at), Kind: CardNotFound, Err: errors.New("not an http or https URL")}
	}
	if err := r.opts.checkCredentials(); err != nil {
		return nil, nil, err
	}
	doc, err := r.fetch(ctx, u)
	switch {
	case err == nil:
		s := new(Source)
		if doc.from != nil {
			s.s = *doc.from
		}
		return doc.body, s, nil
	case ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	}
	if e, ok := errors.AsType[*CardError](err); ok {
		e.Ref = printable(at)
		if _, redirect := errors.AsType[*errRedirect](err); e.Kind == CardNotFound && !redirect {
			e.Err = fmt.Errorf("there is no document at %s", location(u))
		}
	}
	return nil, nil, err
}
