// Package postgres is a [store.Store] in a PostgreSQL database (15 or newer), for
// servers that run on more than one machine.
package postgres
