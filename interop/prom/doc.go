// Package prom checks deploy/alerts.yaml and deploy/grafana-dashboard.json with the
// libraries that promtool and Prometheus are made of, and the table of
// metrics in docs/observability.md.
//
// It is a module of its own, so that nothing of Prometheus enters Parley's.
package prom
