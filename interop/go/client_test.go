package interop

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	grpcv0 "github.com/a2aproject/a2a-go/v2/a2agrpc/v0"
	grpcv1 "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

var bindings = []a2a.TransportProtocol{
	a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON, a2a.TransportProtocolGRPC,
}

// TestClients runs a2a-go's clients against `parley serve` as it comes: each
// resolves the card from the base URL and picks the interface itself.
func TestClients(t *testing.T) {
	parley := serve(t)
	cleartext := grpc.WithTransportCredentials(insecure.NewCredentials())

	for _, binding := range bindings {
		pair{
			role: "client", binding: binding, version: "1.0", agent: parley.url,
			objectsOnly: binding == a2a.TransportProtocolGRPC, ended: a2a.ErrUnsupportedOperation,
			deafToAnswers: binding == a2a.TransportProtocolJSONRPC,
			connect: func(t *testing.T, said *transcript) client {
				parley.log.connect(said)
				card, err := agentcard.NewResolver(said.httpClient()).Resolve(t.Context(), parley.url)
				if err != nil {
					t.Fatal(err)
				}
				return dial(t, card, binding, said,
					a2aclient.WithJSONRPCTransport(said.httpClient()),
					a2aclient.WithRESTTransport(said.httpClient()),
					grpcv1.WithGRPCTransport(cleartext))
			},
		}.run(t)
	}

	for _, binding := range bindings {
		pair{
			role: "client", binding: binding, version: "0.3", agent: parley.url, noList: true,
			// Over HTTP+JSON it changes the case of all names, and no longer
			// knows the metadata by which it unwraps such data.
			objectsOnly: binding == a2a.TransportProtocolHTTPJSON,
			connect: func(t *testing.T, said *transcript) client {
				parley.log.connect(said)
				resolver := agentcard.Resolver{Client: said.httpClient(), CardParser: a2av0.NewAgentCardParser()}
				card, err := resolver.Resolve(t.Context(), parley.url)
				if err != nil {
					t.Fatal(err)
				}
				return dial(t, card, binding, said,
					a2av0.WithJSONRPCTransport(a2av0.JSONRPCTransportConfig{Client: said.httpClient()}),
					a2av0.WithRESTTransport(a2av0.RESTTransportConfig{Client: said.httpClient()}),
					grpcv0.WithGRPCTransport(cleartext))
			},
		}.run(t)
	}
}

// dial makes a client of the transports given and no other.
func dial(t *testing.T, card *a2a.AgentCard, binding a2a.TransportProtocol, said *transcript, transports ...a2aclient.FactoryOption) client {
	t.Helper()
	said.say("card", card, nil)
	options := append([]a2aclient.FactoryOption{
		a2aclient.WithDefaultsDisabled(),
		a2aclient.WithConfig(a2aclient.Config{PreferredTransports: []a2a.TransportProtocol{binding}}),
	}, transports...)
	c, err := a2aclient.NewFromCard(t.Context(), card, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Destroy() })
	return c
}
