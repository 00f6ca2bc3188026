package auth_test

import (
	"context"
	"fmt"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/auth"
)

func Example() {
	key, err := auth.GenerateKey("ES256")
	if err != nil {
		panic(err)
	}
	card := &a2a.AgentCard{Name: "greeter", Description: "Greets.", Version: "1"}
	if err := auth.SignCard(card, key, nil); err != nil {
		panic(err)
	}

	// The client has the public key from somewhere it trusts.
	keys := auth.KeySet{key.Public()}
	v, err := auth.VerifyJSON(context.Background(), card.AppendJSON(nil), keys, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println("signed:", v.Err() == nil)

	card.Name = "cheater"
	v, err = auth.VerifyCard(context.Background(), card, keys, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println("after a change:", v.Err())
	// Output:
	// signed: true
	// after a change: signatures[0]: the signature does not match this card and this key: one of them was changed
}
