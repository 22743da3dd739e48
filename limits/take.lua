-- One decision about a whole stack: every counter is read, then every counter is written, or none is.
--
-- KEYS: the counters. ARGV: "take" or "peek", then for each counter five numbers: figure, length and quantum of the
-- window in ticks, the tick in microseconds, cost. A key that stands twice is charged once, by the first.
--
-- Answer: 1 or 0 for admitted or refused, then for each counter four numbers: what is counted, and in microseconds
-- the wait for this request (-1: never), for the next unit, and until nothing is counted.
--
-- A counter is the log that limits/window.go describes, packed as {base, stamp, cost, stamp, cost, ...}; stamps are
-- ticks after base, oldest first. Sums stay below 2^53, where a Lua number is exact.

local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local taking = ARGV[1] == 'take'

-- The log of one key without what has left; "used" is what it counts.
local function read(key, length, tick)
  local packed = redis.call('GET', key)
  if not packed then
    return {base = 0, used = 0}
  end
  local stored = cmsgpack.unpack(packed)
  local log, used = {base = stored[1]}, 0
  local edge = math.floor(now / tick) - length - log.base
  for i = 2, #stored, 2 do
    if stored[i] > edge then
      log[#log + 1] = stored[i]
      log[#log + 1] = stored[i + 1]
      used = used + stored[i + 1]
    end
  end
  log.used = used
  return log
end

-- Microseconds until this many units have left; never more than are used.
local function wait(log, length, tick, units)
  local i = 1
  while log[i + 1] < units do
    units = units - log[i + 1]
    i = i + 2
  end
  return (log.base + log[i] + length) * tick - now
end

-- Counts the cost now. A clock that has stepped back counts at the newest stamp, so that stamps never fall, and the
-- key lives until that stamp has left by the clock as it is.
local function charge(key, log, length, quantum, tick, cost)
  local at, n = math.ceil(now / tick), #log
  if n > 0 then
    local oldest = log[1]
    for i = 1, n, 2 do
      log[i] = log[i] - oldest
    end
    log.base = log.base + oldest
    at = math.max(at, log.base + log[n - 1])
  else
    log.base = at
  end
  if n > 0 and math.floor((log.base + log[n - 1]) / quantum) == math.floor(at / quantum) then
    log[n - 1] = at - log.base
    log[n] = log[n] + cost
  else
    log[n + 1] = at - log.base
    log[n + 2] = cost
  end
  log.used = log.used + cost
  local packed = cmsgpack.pack({log.base, unpack(log)})
  redis.call('SET', key, packed, 'PX', math.ceil(((at + length) * tick - now) / 1000))
end

local stack, logs, admitted = {}, {}, 1
for i = 1, #KEYS do
  local o = 5 * i - 3
  local entry = {
    figure = tonumber(ARGV[o]), length = tonumber(ARGV[o + 1]), quantum = tonumber(ARGV[o + 2]),
    tick = tonumber(ARGV[o + 3]), cost = tonumber(ARGV[o + 4]), wait = 0,
  }
  entry.log = logs[KEYS[i]]
  if not entry.log then
    entry.log = read(KEYS[i], entry.length, entry.tick)
    entry.first = true
    logs[KEYS[i]] = entry.log
  end
  if taking then
    local over = entry.log.used + entry.cost - entry.figure
    if entry.cost > entry.figure then
      entry.wait = -1
    elseif over > 0 then
      entry.wait = wait(entry.log, entry.length, entry.tick, over)
    end
    if entry.wait ~= 0 then
      admitted = 0
    end
  end
  stack[i] = entry
end

if taking and admitted == 1 then
  for i, entry in ipairs(stack) do
    if entry.first then
      charge(KEYS[i], entry.log, entry.length, entry.quantum, entry.tick, entry.cost)
    end
  end
end

local answer = {admitted}
for _, entry in ipairs(stack) do
  local log, nextup, whole = entry.log, 0, 0
  if log.used > 0 then
    nextup = wait(log, entry.length, entry.tick, math.max(1, log.used + 1 - entry.figure))
    whole = (log.base + log[#log - 1] + entry.length) * entry.tick - now
  end
  answer[#answer + 1] = log.used
  answer[#answer + 1] = entry.wait
  answer[#answer + 1] = nextup
  answer[#answer + 1] = whole
end
return answer
