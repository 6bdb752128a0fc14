package handlers

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
)

// Listen opens the address. Without keys only a loopback address is opened,
// unless Options.AuthDisabled says that there is to be no authentication.
func (a *API) Listen(ctx context.Context, address string) (net.Listener, error) {
	if !a.guarded() {
		if err := loopbackOnly(ctx, address); err != nil {
			return nil, err
		}
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	if err := a.mayServe(l); err != nil { // a name may stand for something else by now
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

// guarded reports whether somebody decided who may call.
func (a *API) guarded() bool { return len(a.keys) > 0 || a.authDisabled }

// mayServe refuses a listener that others than this machine could reach.
func (a *API) mayServe(l net.Listener) error {
	if at, ok := l.Addr().(*net.TCPAddr); !a.guarded() && (!ok || !at.IP.IsLoopback()) {
		return refused(l.Addr().String())
	}
	return nil
}

func loopbackOnly(ctx context.Context, address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	if host == "" {
		return refused(address)
	}
	found, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	for _, at := range found {
		if !at.IP.IsLoopback() {
			return refused(address)
		}
	}
	return nil
}

func refused(address string) error {
	return fmt.Errorf("refusing to listen on %s without keys, since everybody who reaches it could use the server: configure auth.keys, or listen on 127.0.0.1, or say auth.disabled: true where something else asks for keys", address)
}

// rawProblem is the whole answer for an error that net/http found, given its
// status line ("431 Request Header Fields Too Large").
func (a *API) rawProblem(line string, client net.Addr) []byte {
	code, detail := "malformed_request", "The request is not HTTP/1.1."
	switch status, _, _ := strings.Cut(line, " "); status {
	case "408":
		code, detail = "slow_request", "The request's header did not arrive in time."
	case "431":
		code, detail = "header_too_large", "The request's line and header are larger than the server takes."
	case "501":
		code, detail = "unsupported_encoding", "The only transfer encoding is chunked."
	case "505":
		code, detail = "http_version", "The server speaks HTTP/1.1 and HTTP/2."
	case "417":
		code, detail = "expectation_failed", "The only expectation is 100-continue."
	default:
		if _, reason, ok := strings.Cut(line, "Bad Request: "); ok {
			detail = "The request is not HTTP/1.1: " + reason + "."
		}
	}
	p := newProblem(code, detail)
	p.RequestID = randomHex(16)
	body, err := json.Marshal(p)
	if err != nil {
		body = []byte("{}")
	}
	x := &exchange{requestID: p.RequestID, code: code}
	a.metrics.request("", x, p.Status, 0)
	a.log.LogAttrs(context.Background(), slog.LevelInfo, "request", slog.String("request_id", p.RequestID),
		slog.Int("status", p.Status), slog.String("code", code), slog.String("client", client.String()))
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nX-Request-ID: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s\n",
		p.Status, http.StatusText(p.Status), typeProblem, p.RequestID, len(body)+1, body)
}
