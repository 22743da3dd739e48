-- One decision about a whole stack: every counter is read, then every counter is written, or none is.
--
-- KEYS: the counters. ARGV: "take", "judge" (as take, and nothing is charged), "peek" (costs are ignored) or "refund"
-- (what an earlier take charged is given back, then as judge), then doubles in one string: five for each counter, its
-- figure, length and quantum of the window in ticks, the tick in microseconds, cost; how many keys the server may hold;
-- and to refund, two for each counter, the tick that the cost was counted at and 1 if that was in common, 0 if not. A
-- key that stands twice is charged once, by the first.
--
-- Answer: doubles in one string, which is made and read faster than a list: 0 for refused, 1 for admitted and 2 to the
-- power of i more for the i-th counter if it was counted in common; the clock in microseconds; then for each counter
-- four: what is counted, and in microseconds the wait for this request (-1: never), for the next unit, and until nothing
-- is counted.
--
-- A counter is the log that limits/window.go describes, in 13 bytes and 8 for each quantum: a version, the base, the
-- sum of all costs, then stamp and cost of each quantum, oldest first; stamps are ticks after base. Only the ends of
-- the log are looked at, so that a long one costs little more than a short one, and the logs of a stack lie in tables
-- side by side, which are made faster than a table for each. Sums stay below 2^53, where a Lua number is exact.

local spread = unpack
local unpack, pack, floor, ceil, call = struct.unpack, struct.pack, math.floor, math.ceil, redis.call
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local taking, judging = ARGV[1] == 'take', ARGV[1] ~= 'peek'

-- What almost every request is: all its counters are there and have room. It is decided in one pass, without a function
-- and with one read, which takes two thirds of the time; nothing is written before the last counter has said yes. Where
-- one says anything else, all of it is left to what follows.
if taking then
  local logs, lives, said = call('MGET', spread(KEYS)), {}, pack('<dd', 1, now)
  for i = 1, #KEYS do
    local log, key = logs[i], KEYS[i]
    if not log or lives[key] or #log < 21 or #log % 8 ~= 5 then
      said = nil
      break
    end
    local figure, length, quantum, tick, cost = unpack('<ddddd', ARGV[2], 40 * i - 39)
    local version, base, used, oldest, sum = unpack('<BdI4I4I4', log)
    local ticks, from, last = now / tick, 14, #log
    local edge, at = floor(ticks) - length - base, ceil(ticks)
    while oldest <= edge and from + 8 < last do
      used, from = used - sum, from + 8
      oldest, sum = unpack('<I4I4', log, from)
    end
    used = used + cost
    if version ~= 1 or oldest <= edge or used > figure or at - base > 4294967295 then
      said = nil
      break
    end
    local newest = base + oldest
    if from + 8 < last then
      newest, sum = unpack('<I4I4', log, last - 7)
      newest = base + newest
    end
    if at < newest then
      at = newest
    end
    if floor(newest / quantum) == floor(at / quantum) then
      last, cost = last - 8, sum + cost
    end
    if from > last then
      oldest = at - base
      logs[i] = pack('<BdI4I4I4', 1, base, used, oldest, cost)
    else
      logs[i] = pack('<BdI4', 1, base, used) .. log:sub(from, last) .. pack('<I4I4', at - base, cost)
    end
    local nextup, whole = (base + oldest + length) * tick - now, (at + length) * tick - now
    lives[key] = ceil(whole / 1000)
    said = said .. pack('<dddd', used, 0, nextup, whole)
  end
  if said then
    for i = 1, #KEYS do
      call('SET', KEYS[i], logs[i], 'PX', lives[KEYS[i]])
    end
    return said
  end
end

-- By the place of a key in KEYS: its log, the base of that, what it counts, and where the first entry begins that has
-- not left. A newcomer has no counter yet: it has the log that is counted in common, and the name of that.
local logs, bases, useds, froms, commons = {}, {}, {}, {}, {}

-- Whether there is such a counter.
local function read(i, key, length, tick)
  local log = call('GET', key)
  if not log then
    logs[i], bases[i], useds[i], froms[i] = '', 0, 0, 14
    return false
  end
  local version, base, used = unpack('<BdI4', log)
  if version ~= 1 or #log % 8 ~= 5 then
    error(key .. ' holds no counter')
  end
  local edge, from = floor(now / tick) - length - base, 14
  while from < #log do
    local stamp, cost = unpack('<I4I4', log, from)
    if stamp > edge then
      break
    end
    used, from = used - cost, from + 8
  end
  logs[i], bases[i], useds[i], froms[i] = log, base, used, from
  return true
end

-- The name of what newcomers of one hash tag, plan and window share: "stn:rl:{org:3}:token:common:read:60". It is made
-- here, where a newcomer needs it: sent along it would cost every request, and its tag says that it lies where the key
-- does.
local function common(key)
  return key:match('^.-}:%a+:') .. 'common' .. key:match('(:[^:]+:[^:/]+)[^:]*$')
end

-- Microseconds until this many units have left; never more than are used.
local function wait(i, length, tick, units)
  local log, from = logs[i], froms[i]
  local stamp, cost = unpack('<I4I4', log, from)
  while cost < units do
    units, from = units - cost, from + 8
    stamp, cost = unpack('<I4I4', log, from)
  end
  return (bases[i] + stamp + length) * tick - now
end

-- Lets stamps count from the oldest entry that has not left, because one of now would not fit into 32 bits.
local function rebase(i)
  local shift, entries = unpack('<I4', logs[i], froms[i]), {logs[i]:sub(1, froms[i] - 1)}
  for from = froms[i], #logs[i], 8 do
    local stamp, cost = unpack('<I4I4', logs[i], from)
    entries[#entries + 1] = pack('<I4I4', stamp - shift, cost)
  end
  logs[i], bases[i] = table.concat(entries), bases[i] + shift
end

-- Counts the cost now. A clock that has stepped back counts at the newest stamp, so that stamps never fall, and the
-- key lives until that stamp has left by the clock as it is.
local function charge(i, key, length, quantum, tick, cost)
  local at, last, used = ceil(now / tick), #logs[i], useds[i] + cost
  local log, base
  if froms[i] > last then
    base = at
    log = pack('<BdI4I4I4', 1, base, used, 0, cost)
  else
    local stamp, sum = unpack('<I4I4', logs[i], last - 7)
    local newest = bases[i] + stamp
    if at < newest then
      at = newest
    end
    if at - bases[i] > 4294967295 then
      rebase(i)
    end
    base = bases[i]
    if floor(newest / quantum) == floor(at / quantum) then
      last, cost = last - 8, sum + cost
    end
    log = pack('<BdI4', 1, base, used) .. logs[i]:sub(froms[i], last) .. pack('<I4I4', at - base, cost)
  end
  logs[i], bases[i], useds[i], froms[i] = log, base, used, 14
  call('SET', key, log, 'PX', ceil(((at + length) * tick - now) / 1000))
end

if ARGV[1] == 'refund' then
  -- Takes a cost out of the quantum that it was counted in, as far as it is still there; what is empty vanishes.
  local function refund(key, at, length, quantum, tick, cost)
    if not read(0, key, length, tick) then
      return
    end
    local log, base, used = logs[0], bases[0], useds[0]
    for from = #log - 7, froms[0], -8 do
      local stamp, sum = unpack('<I4I4', log, from)
      if floor((base + stamp) / quantum) == floor(at / quantum) then
        local left = math.max(0, sum - cost)
        local kept = left > 0 and pack('<I4I4', stamp, left) or ''
        used, log = used - sum + left, log:sub(1, from - 1) .. kept .. log:sub(from + 8)
        break
      end
    end
    if used == 0 then
      call('DEL', key)
      return
    end
    local newest = base + unpack('<I4', log, #log - 7)
    call('SET', key, pack('<BdI4', 1, base, used) .. log:sub(froms[0]), 'PX', ceil(((newest + length) * tick - now) / 1000))
  end

  local given = {}
  for i = 1, #KEYS do
    local key, _, length, quantum, tick, cost = KEYS[i], unpack('<ddddd', ARGV[2], 40 * i - 39)
    local at, shared = unpack('<dd', ARGV[2], 40 * #KEYS + 16 * i - 7)
    if not given[key] then
      given[key] = true
      refund(shared == 1 and common(key) or key, at, length, quantum, tick, cost)
    end
  end
end

local answer, first, admitted, newcomers = {1, now}, {}, 1, false
for i = 1, #KEYS do
  local figure, length, quantum, tick, cost = unpack('<ddddd', ARGV[2], 40 * i - 39)
  local key, refused = KEYS[i], 0
  if not first[key] then
    first[key] = i
    if not read(i, key, length, tick) then
      commons[i], newcomers = common(key), true
      read(i, commons[i], length, tick)
    end
  end
  if judging then
    local over = useds[first[key]] + cost - figure
    if cost > figure then
      refused = -1
    elseif over > 0 then
      refused = wait(first[key], length, tick, over)
    end
    if refused ~= 0 then
      admitted = 0
    end
  end
  answer[4 * i - 1], answer[4 * i] = 0, refused
end
answer[1] = admitted

-- How many counters may be made, found out before the first is written. One that is made begins as a copy of what is
-- counted in common: what the key did while there was no room for it is in there.
local charging, room = taking and admitted == 1, 0
if charging and newcomers then
  room = unpack('<d', ARGV[2], 40 * #KEYS + 1) - call('DBSIZE')
end
for i = 1, #KEYS do
  local figure, length, quantum, tick, cost = unpack('<ddddd', ARGV[2], 40 * i - 39)
  local key = KEYS[i]
  local j = first[key]
  if charging and j == i then
    if commons[i] and room > 0 then
      room = room - 1
    elseif commons[i] then
      key, answer[1] = commons[i], answer[1] + 2 ^ i
      read(i, key, length, tick) -- another limit of this stack may have been counted there
    end
    charge(i, key, length, quantum, tick, cost)
  end
  local used, nextup, whole = useds[j], 0, 0
  if used > 0 then
    nextup = wait(j, length, tick, used < figure and 1 or used + 1 - figure)
    whole = (bases[j] + unpack('<I4', logs[j], #logs[j] - 7) + length) * tick - now
  end
  answer[4 * i - 1], answer[4 * i + 1], answer[4 * i + 2] = used, nextup, whole
end
local said = pack('<dd', answer[1], answer[2])
for i = 3, #answer, 4 do
  said = said .. pack('<dddd', answer[i], answer[i + 1], answer[i + 2], answer[i + 3])
end
return said
