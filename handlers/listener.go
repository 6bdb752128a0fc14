package handlers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
)

// Listen returns a TCP listener on an address. It fails with an *AddressInUseError if the port is in use, and without
// keys for an address other machines can reach, unless Options.AuthDisabled is set.
func (a *API) Listen(ctx context.Context, address string) (net.Listener, error) {
	at, err := net.ResolveTCPAddr("tcp", address) // once: a name may stand for something else a moment later
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	if !a.hasAccessRules() && !at.IP.IsLoopback() {
		return nil, listenRefusal(address)
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", at.String())
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, &AddressInUseError{Address: address}
	case err != nil:
		return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	return l, nil
}

// AddressInUseError is the error of Listen when another program already listens on the address.
type AddressInUseError struct{ Address string }

// Error says that another program uses the port of the address.
func (e *AddressInUseError) Error() string {
	return fmt.Sprintf("cannot listen on %s: another program uses that port", e.Address)
}

// hasAccessRules reports whether the options have keys, or disable authentication explicitly.
func (a *API) hasAccessRules() bool { return len(a.options.Keys) > 0 || a.options.AuthDisabled }

// checkListener returns an error if other machines can reach the listener and there are no access rules
// (hasAccessRules).
func (a *API) checkListener(l net.Listener) error {
	if at, ok := l.Addr().(*net.TCPAddr); !a.hasAccessRules() && (!ok || !at.IP.IsLoopback()) {
		return listenRefusal(l.Addr().String())
	}
	return nil
}

// listenRefusal returns the error of listening without keys on an address that other machines can reach.
func listenRefusal(address string) error {
	return fmt.Errorf(
		"refusing to listen on %s without keys, since everybody who reaches it could use the server: configure auth.keys, or listen on 127.0.0.1, or say auth.disabled: true where something else asks for keys",
		address,
	)
}
