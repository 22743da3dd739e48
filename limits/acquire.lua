-- Takes one of a bounded number of places. KEYS: the places, a sorted set of lease ids by the millisecond at which
-- each runs out. ARGV: how many places there are, how long to hold one in milliseconds, the id. Answer: 1 or 0. An id
-- that has a place keeps it: who asks again has not heard the answer.

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if not redis.call('ZSCORE', KEYS[1], ARGV[3]) and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then
  return 0
end
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[3])
local latest = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')
redis.call('PEXPIRE', KEYS[1], latest[2] - now)
return 1
