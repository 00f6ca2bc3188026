package auth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/store"
)

// A guard lets in who has an API key, until the key is revoked.
func ExampleGuard() {
	ctx := context.Background()
	keys := auth.NewKeys(store.NewMemory(), nil)
	token, key, err := keys.Create(ctx, auth.KeySpec{Name: "nightly build", Subject: "build", Scopes: []string{a2a.ScopeTasksRead}})
	if err != nil {
		fmt.Println(err)
		return
	}
	guard, err := auth.NewGuard([]auth.Method{keys}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	r, _ := http.NewRequest("POST", "https://agent.example.org/", nil)
	r.Header.Set(auth.KeyHeader, token.Reveal())
	caller, err := guard.Authenticate(r)
	fmt.Println(caller.Subject, caller.Scopes, err)

	if _, err := keys.Revoke(ctx, key.ID); err != nil {
		fmt.Println(err)
	}
	_, err = guard.Authenticate(r)
	fmt.Println(errors.Is(err, a2a.ErrUnauthenticated), token)
	// Output:
	// key:build [tasks:read] <nil>
	// true ***
}
