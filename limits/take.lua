-- One decision about a whole stack: every counter is read, then every counter is written, or none is.
--
-- KEYS: the counters. ARGV: "take", "judge" (as take, and nothing is charged) or "peek" (costs are ignored), then five
-- doubles for each counter in one string: figure, length and quantum of the window in ticks, the tick in microseconds,
-- cost. A key that stands twice is charged once, by the first.
--
-- Answer: 1 or 0 for admitted or refused, the clock in microseconds, then for each counter four numbers: what is
-- counted, and in microseconds the wait for this request (-1: never), for the next unit, and until nothing is counted.
--
-- A counter is the log that limits/window.go describes, in 13 bytes and 8 for each quantum: a version, the base, the
-- sum of all costs, then stamp and cost of each quantum, oldest first; stamps are ticks after base. Only the ends of
-- the log are looked at, so that a long one costs little more than a short one, and the logs of a stack lie in tables
-- side by side, which are made faster than a table for each. Sums stay below 2^53, where a Lua number is exact.

local unpack, pack, floor, ceil, call = struct.unpack, struct.pack, math.floor, math.ceil, redis.call

local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local taking, judging = ARGV[1] == 'take', ARGV[1] ~= 'peek'

-- By the place of a key in KEYS: its log, the base of that, what it counts, and where the first entry begins that has
-- not left.
local logs, bases, useds, froms = {}, {}, {}, {}

local function read(i, key, length, tick)
  local log = call('GET', key)
  if not log then
    logs[i], bases[i], useds[i], froms[i] = '', 0, 0, 14
    return
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

local answer, first, admitted = {1, now}, {}, 1
for i = 1, #KEYS do
  local figure, length, quantum, tick, cost = unpack('<ddddd', ARGV[2], 40 * i - 39)
  local key, refused = KEYS[i], 0
  if not first[key] then
    first[key] = i
    read(i, key, length, tick)
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

for i = 1, #KEYS do
  local figure, length, quantum, tick, cost = unpack('<ddddd', ARGV[2], 40 * i - 39)
  local key = KEYS[i]
  local j = first[key]
  if taking and admitted == 1 and j == i then
    charge(i, key, length, quantum, tick, cost)
  end
  local used, nextup, whole = useds[j], 0, 0
  if used > 0 then
    nextup = wait(j, length, tick, used < figure and 1 or used + 1 - figure)
    whole = (bases[j] + unpack('<I4', logs[j], #logs[j] - 7) + length) * tick - now
  end
  answer[4 * i - 1], answer[4 * i + 1], answer[4 * i + 2] = used, nextup, whole
end
return answer
