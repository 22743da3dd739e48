package config

import (
	"errors"
	"slices"
	"strings"
)

// StorageErrorPolicy is what becomes of a decision that the storage of the limits did not take.
type StorageErrorPolicy string

// The policies.
const (
	// CountLocally decides in the process, at the figure divided by the processes alive.
	CountLocally StorageErrorPolicy = "local"
	// Deny refuses with 503.
	Deny StorageErrorPolicy = "deny"
)

// OnStorageError is RATELIMIT_ON_STORAGE_ERROR: the policy for requests that read, that change something, and that
// start paid work.
type OnStorageError struct{ Read, Write, Process StorageErrorPolicy }

// String writes the policies so that ParseOnStorageError reads them back.
func (o OnStorageError) String() string {
	return string(o.Read) + "," + string(o.Write) + "," + string(o.Process)
}

const onStorageErrorAllowed = "three words, for reads, writes and paid work, each local or deny: local,local,deny"

// ParseOnStorageError reads the three policies. None may be left out: a policy that nobody chose would be found out in
// an outage.
func ParseOnStorageError(text string) (OnStorageError, error) {
	words := strings.Split(strings.ToLower(text), ",")
	if len(words) != 3 {
		return OnStorageError{}, errors.New("must be " + onStorageErrorAllowed)
	}
	var policies [3]StorageErrorPolicy
	for i, word := range words {
		policies[i] = StorageErrorPolicy(strings.TrimSpace(word))
		if !slices.Contains([]StorageErrorPolicy{CountLocally, Deny}, policies[i]) {
			return OnStorageError{}, errors.New(shown(strings.TrimSpace(word)) + " is neither local nor deny; it must be " + onStorageErrorAllowed)
		}
	}
	return OnStorageError{Read: policies[0], Write: policies[1], Process: policies[2]}, nil
}
