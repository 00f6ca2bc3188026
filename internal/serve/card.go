package serve

import (
	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/keyfile"
	"github.com/parley-a2a/parley/internal/plain"
)

// cardFlags are the flags for the keys that sign cards, and for the extended card.
type cardFlags struct {
	keys     []string // files
	keysURL  string
	strict   bool
	extended string // a file
}

func (f *cardFlags) register(fs *pflag.FlagSet) {
	fs.StringArrayVar(&f.keys, "card-key", nil, "sign cards with the private key in this `file`, made by parley card keygen; may be repeated while you replace a key")
	fs.StringVar(&f.keysURL, "card-keys-url", "", "`URL` of the public keys that signatures name (default: this server's /.well-known/agent-card-keys.json)")
	fs.BoolVar(&f.strict, "card-strict", false, "sign exactly as A2A §8.4.1 says: SDKs that drop empty members, such as those for JavaScript and Python, then cannot verify cards that have them")
	fs.StringVar(&f.extended, "extended-card", "", "JSON `file` of the extended card, for callers with credentials if callers need any; skills that require scopes are shown to callers that have them")
}

func (f *cardFlags) check(publicURL, profile string) error {
	switch {
	case len(f.keys) > 0 && publicURL == "":
		return failure.Usagef("--card-key needs --public-url").
			WithHint("a signed card says where the agent is, and must not take that from a request: --public-url https://agents.example.org")
	case len(f.keys) == 0 && (f.keysURL != "" || f.strict):
		return failure.Usagef("--card-keys-url and --card-strict are about signed cards: give --card-key")
	case f.extended != "" && profile != profiles[0] && profile != "v1":
		return failure.Usagef("--extended-card and --card-profile %s exclude each other", profile)
	}
	if f.keysURL != "" {
		if u := a2a.WebURL(f.keysURL); u == nil || u.User != nil {
			return failure.Usagef("--card-keys-url must be an https URL without credentials")
		}
	}
	return nil
}

// signing reads the keys.
func (f *cardFlags) signing() ([]*auth.Key, error) {
	var keys []*auth.Key
	for _, name := range f.keys {
		key, err := keyfile.Signing("--card-key", name)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// extendedCard returns the extended card in a file, or other if there is no file. With
// a file it sets ExtendedAgentCard on the public card.
func extendedCard(file string, card *a2a.AgentCard, other *a2a.AgentCard) (*a2a.AgentCard, error) {
	if file == "" {
		return other, nil
	}
	doc, err := keyfile.Read(file, keyfile.MaxCard)
	if err != nil {
		return nil, failure.Usagef("--extended-card: %v", err)
	}
	extended := new(a2a.AgentCard)
	if err := extended.UnmarshalJSON(doc); err != nil {
		return nil, failure.Usagef("--extended-card %s: %v", plain.Quote(file), err)
	}
	// An unknown member is a typo, perhaps in a security requirement.
	known, err := auth.Reduce(doc, auth.FormProtocol)
	if err != nil {
		return nil, failure.Usagef("--extended-card %s: %v", plain.Quote(file), err)
	}
	if len(known.Uncovered) > 0 {
		return nil, failure.Usagef("--extended-card %s: version 1.0 of the protocol has no %s", plain.Quote(file), known.Uncovered[0])
	}
	card.Capabilities.ExtendedAgentCard = new(true)
	return extended, nil
}

// profiles are the values of --card-profile, the default first.
var profiles = []string{"all", "v1", "bare", "extended"}

// cardFor returns the versions for which a --card-profile writes the card.
func cardFor(profile string) a2aserver.CardProfile {
	if profile == "v1" {
		return a2aserver.CardV1
	}
	return a2aserver.CardAll
}

// profile returns an agent's card with the capabilities of a --card-profile,
// and the extended card, if the profile has one. The server enforces what the
// card says.
func profile(name string, card a2a.AgentCard) (a2a.AgentCard, *a2a.AgentCard) {
	switch name {
	case "bare":
		card.Capabilities.Streaming = new(false)
		card.Capabilities.PushNotifications = new(false)
		card.Capabilities.ExtendedAgentCard = new(false)
	case "extended":
		card.Capabilities.ExtendedAgentCard = new(true)
		extended := card
		extended.Name += " (extended)"
		extended.Skills = append(append([]*a2a.AgentSkill(nil), card.Skills...), &a2a.AgentSkill{
			ID: "extended", Name: "Extended card", Tags: []string{"test"},
			Description: "Shows that this is the extended card; it does nothing.",
		})
		return card, &extended
	}
	return card, nil
}
