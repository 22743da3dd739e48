package config

// LimitsStorageKind is where requests are counted.
type LimitsStorageKind string

// The kinds of RATELIMIT_STORAGE_URI.
const (
	// LimitsInMemory counts in each process for itself.
	LimitsInMemory LimitsStorageKind = "memory"
	// LimitsInRedis counts in one Redis server.
	LimitsInRedis LimitsStorageKind = "redis"
	// LimitsInSentinel counts in the master that Redis Sentinels name.
	LimitsInSentinel LimitsStorageKind = "sentinel"
	// LimitsInCluster counts in a Redis Cluster.
	LimitsInCluster LimitsStorageKind = "cluster"
	// LimitsInDatabase counts in PostgreSQL, or in a SQLite file beside the database's.
	LimitsInDatabase LimitsStorageKind = "database"
)

// LimitsStorage takes RATELIMIT_STORAGE_URI apart. A loaded configuration has no error.
func (c *Config) LimitsStorage() (LimitsStorage, error) {
	return ParseLimitsStorage(c.RateLimitStorageURI.Reveal())
}

// LimitsStorage is RATELIMIT_STORAGE_URI taken apart.
type LimitsStorage struct {
	Kind LimitsStorageKind
	// Addresses are host:port of the server, of the Sentinels, or of some nodes of the cluster; empty for a socket.
	Addresses []string
	// Socket is the path of a Unix socket in place of an address; redis alone.
	Socket string
	// Master is the name that the Sentinels know the master by.
	Master string
	// Username and Password are the server's.
	Username string
	Password Secret
	// SentinelUsername and SentinelPassword are the Sentinels' own.
	SentinelUsername string
	SentinelPassword Secret
	// Database is the number of the server's database; 0 on a cluster.
	Database int
	// TLS encrypts the connections; CAFile names a file of certificates to trust besides the system's.
	TLS    bool
	CAFile string
}
