-- Gives back what a request was charged that another part of a cluster refused: the cost is taken out of the quantum
-- that it was counted in, as far as it is still there, and what is empty vanishes.
--
-- KEYS: the counters, each once. ARGV: five doubles for each counter in one string: the tick that the cost was counted
-- at, length and quantum of the window in ticks, the tick in microseconds, cost. take.lua says how a counter looks.

local unpack, pack, floor = struct.unpack, struct.pack, math.floor

local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

local function refund(key, log, at, length, quantum, tick, cost)
  local version, base, used = unpack('<BdI4', log)
  if version ~= 1 or #log % 8 ~= 5 then
    error(key .. ' holds no counter')
  end
  for from = #log - 7, 14, -8 do
    local stamp, sum = unpack('<I4I4', log, from)
    if floor((base + stamp) / quantum) == floor(at / quantum) then
      local left = math.max(0, sum - cost)
      local kept = left > 0 and pack('<I4I4', stamp, left) or ''
      log = pack('<BdI4', 1, base, used - sum + left) .. log:sub(14, from - 1) .. kept .. log:sub(from + 8)
      break
    end
  end
  local newest = #log > 13 and base + unpack('<I4', log, #log - 7) or 0
  local life = math.ceil(((newest + length) * tick - now) / 1000)
  if life > 0 then
    redis.call('SET', key, log, 'PX', life)
  else
    redis.call('DEL', key)
  end
end

for i = 1, #KEYS do
  local log = redis.call('GET', KEYS[i])
  if log then
    refund(KEYS[i], log, unpack('<ddddd', ARGV[1], 40 * i - 39))
  end
end
return #KEYS
