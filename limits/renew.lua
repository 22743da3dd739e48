-- Holds a place for longer, unless it has run out. KEYS: the places. ARGV: how long in milliseconds, the id.
-- Answer: 1 or 0.

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local ends = redis.call('ZSCORE', KEYS[1], ARGV[2])
if not ends or tonumber(ends) <= now then
  return 0
end
redis.call('ZADD', KEYS[1], now + ARGV[1], ARGV[2])
local latest = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')
redis.call('PEXPIRE', KEYS[1], latest[2] - now)
return 1
