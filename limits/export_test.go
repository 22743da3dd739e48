package limits

// Under is the same store, with the same connections, for keys that begin otherwise.
func (r *Redis) Under(prefix string) *Redis {
	return &Redis{client: r.client, cluster: r.cluster, masters: r.masters, lanes: r.lanes, maxKeys: r.maxKeys, prefix: prefix, timeout: r.timeout, now: r.now}
}
