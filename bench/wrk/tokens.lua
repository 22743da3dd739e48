-- Requests of all tokens in turn, made before the clock starts so that the script costs wrk little.
-- Arguments: the path of the route, the file of tokens (one line each: account, token).
local requests, next_one = {}, 0

function init(args)
  for line in io.lines(args[2]) do
    local token = line:match("%S+%s+(%S+)")
    requests[#requests + 1] = wrk.format("GET", args[1], { ["Authorization"] = "Bearer " .. token })
  end
end

function request()
  next_one = next_one % #requests + 1
  return requests[next_one]
end
